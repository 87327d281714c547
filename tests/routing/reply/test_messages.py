"""What harvesters say to each other can be written, and read as it was."""

from typing import Any

import pytest

from tocsin.model.histogram import Histogram
from tocsin.routing.reply.messages import (
    Declined,
    Look,
    Passed,
    Report,
    Reported,
    Single,
    Terminate,
    Through,
    Told,
)
from tocsin.store.machines import Codec

CODEC = Codec(
    reported=Reported,
    single=Single,
    told=Told,
    declined=Declined,
    look=Look,
    terminate=Terminate,
    passed=Passed,
    through=Through,
)
REPORTED = Reported("n1", Report(3, 100, 99, 1, 0, True, True, Histogram({"yes": 90}, 9, 2, {"yes": 1})))
UPWARD = (REPORTED, Single("n1", "yes"), Single("n1", None), Told("n1", 2, 7, ("n3",), True), Declined("n1"))
DOWNWARD = (Look(1, 1000), Terminate(5))


@pytest.mark.parametrize("message", [*UPWARD, *DOWNWARD], ids=lambda each: type(each).__name__)
def test_alone_and_on_the_way_of_others(message: Any) -> None:
    kind: Any = Through if message in DOWNWARD else Passed
    for each in (message, kind("v", ("n1", "n2"), message)):
        assert CODEC.decode(CODEC.encode(each)) == each
