"""Deliveries to consumers over TLS, from the settings on."""

from pathlib import Path

import pytest
from tests.whole.acts import IMPATIENT, dead_letters, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.shell import command, run_to_end, wait_until
from tests.wire.test_trust import Authority, server

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


async def test_a_consumer_is_believed_or_becomes_a_dead_letter_with_the_reason(
    tmp_path: Path, start: Start, http: HttpClient
) -> None:
    ours, strange = Authority.made(tmp_path / "ours"), Authority.made(tmp_path / "strange")
    mine, key = ours.sign("broker")
    files = {"ca-file": ours.certificate, "client-cert": mine, "client-key": key}
    settings = {f"delivery-{name}": str(path) for name, path in files.items()} | {"delivery-attempts": "2"}
    broker = start(tmp_path / "data", IMPATIENT | settings)
    good, bad = list[bytes](), list[bytes]()
    async with (
        server(ours.sign("consumer"), good, ours.certificate) as known,
        server(strange.sign("consumer"), bad) as unknown,
    ):
        await subscribe(http, broker, f"https://127.0.0.1:{known}/a", "t")
        stranger = await subscribe(http, broker, f"https://127.0.0.1:{unknown}/a", "t")
        await publish(http, broker, "t", 1)
        await wait_until(lambda: len(good) == 1, "who is believed is told, and is shown our certificate")
        (letter,) = await until(lambda: dead_letters(http, broker, stranger), bool)
    assert letter["attempts"] == 2 and "certificate is not believed" in letter["reason"]
    assert bad == []


def test_a_file_that_cannot_be_used_stops_the_start_in_a_sentence(tmp_path: Path) -> None:
    ended = run_to_end(command(tmp_path / "data", {"delivery-ca-file": str(tmp_path / "gone.pem")}), tmp_path)
    assert ended.returncode == 1
    assert "gone.pem cannot be used for deliveries over TLS" in ended.stderr and "Traceback" not in ended.stderr
