"""What is weighed is what nodes send."""

import pytest
from msgspec import Raw

from tocsin.broker.reply.family import MESSAGES
from tocsin.model.histogram import Histogram
from tocsin.model.identity import Instant
from tocsin.model.replies import ReplyRequest
from tocsin.routing.reply.messages import Look, Passed, Replied, Report, Reported, Single, Through, Told
from tocsin.routing.reply.weights import LETTER_ID, letter_bytes, node_name, receiver_name, token_bytes
from tocsin.wire.peer_messages import WireLetter, encode

REPORT = Report(3, 100, 99, 1, 0, True, True, Histogram({"yes": 90, "no": 9}))


@pytest.mark.parametrize(
    "message",
    [
        Replied("r", "yes"),
        Reported("n1", REPORT),
        Single("n1", None),
        Told("n1", 2, 7, ("n3",), True),
        Passed("v", ("n1", "n2"), Single("n3", "no")),
        Through("v", ("n1",), Look(1, 1000)),
    ],
)
def test_a_letter_is_as_long_as_on_its_way(message: object) -> None:
    assert letter_bytes("v@n1", message) == len(encode(WireLetter(LETTER_ID, "v@n1", Raw(MESSAGES.encode(message)))))


def test_names_are_of_one_length() -> None:
    assert {len(node_name(number)) for number in (0, 7, 99_999_999)} == {21}
    request = ReplyRequest("v", "int:0..9", Instant(1), "secret")
    assert {token_bytes(request, receiver_name(number)) for number in (0, 12_345_678)} == {49}
