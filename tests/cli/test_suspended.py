"""A suspended subscription is told with its reason, and how to go on with it."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from tests.cli.inside import inside

REASON = "its filter failed 3 times in a row: it took too long"
LEASE = "2030-01-31T12:00:00Z"


def told(state: str, reason: str) -> dict[str, Any]:
    counted = {"waiting": 0, "delivered": 0, "dead_letters": 3}
    said = {"id": "s1", "dialect": "cloudevents", "consumer": "http://c/", "topics": [], "filters": [], "since": 0}
    return said | counted | {"expires": LEASE, "state": state, "reason": reason}


class Broker(ThreadingHTTPServer):
    document: dict[str, Any]

    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answering(BaseHTTPRequestHandler):
    server: Broker

    def do_GET(self) -> None:
        is_one = self.path.endswith("/s1")
        body = json.dumps(self.server.document if is_one else {"items": [self.server.document], "next": None}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(("127.0.0.1", 0), Answering) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_status_has_the_reason_and_the_way_back(broker: Broker) -> None:
    broker.document = told("suspended", REASON)
    at = ("--as", "cloudevents", "--broker", broker.url())
    said = " ".join(inside("status", "s1", *at).stderr.split())
    assert said.startswith(f"suspended: {REASON}; lease until {LEASE}; `tocsin resume s1 ")
    assert said.endswith("makes it active again, once that is put right")
    assert json.loads(inside("status", "s1", "--json", *at).stdout)["reason"] == REASON


def test_without_a_reason_it_is_not_said_to_be_suspended_until_its_lease_ends(broker: Broker) -> None:
    broker.document = told("suspended", "")
    said = inside("status", "s1", "--as", "cloudevents", "--broker", broker.url()).stderr
    assert said.startswith(f"suspended; lease until {LEASE}")


@pytest.mark.parametrize(("state", "is_told"), [("suspended", True), ("active", False)])
def test_the_list_has_the_reason(broker: Broker, state: str, is_told: bool) -> None:
    broker.document = told(state, REASON)
    said = inside("subscriptions", "--broker", broker.url()).stderr
    assert (" ".join(REASON.split()) in " ".join(said.split())) is is_told
