"""A broker with access on, those who ask it, and what Alice owns there."""

import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from string import Template
from typing import Any, ClassVar
from urllib.parse import quote

from tests.whole.people import about, basic, known
from tests.whole.rights_cases import (
    ASK,
    CE_SUBSCRIPTION,
    EDGE,
    EVENT,
    JSON,
    LIFTING,
    ONTOLOGY,
    OWN_EDGE,
    SPACE,
    TOPICS,
    TURTLE,
    WORLD,
    XML,
    Case,
    event,
)
from tests.whole.shell import LOOK, PATIENCE, BrokerProcess
from tests.whole.speech import Said, manager_of, wse_subscribe, wsn_subscribe

from tocsin.model.access import Right

# Alice owns what is made; Carol has the same rights and owns nothing; Dan manages the same topics; Bob may nothing.
PRINCIPALS = ("admin", "alice", "carol", "dan", "bob", "nobody")
MINE = "flood//."
Values = dict[str, str]
ENDLESS = ("text/event-stream",)


class Sink(ThreadingHTTPServer):
    """Takes whatever is sent, and keeps where consent is to be given."""

    daemon_threads = True
    callbacks: ClassVar[list[str]] = []


class _Taking(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _take(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if callback := self.headers.get("WebHook-Request-Callback"):
            Sink.callbacks.append(callback)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_OPTIONS = _take  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def sink() -> Iterator[str]:
    """Its address."""
    with Sink(("127.0.0.1", 0), _Taking) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Answer:
    def __init__(self, status: int, kind: str, body: bytes) -> None:
        self.status, self.kind, self.body = status, kind, body

    @property
    def document(self) -> Any:
        return json.loads(self.body)


class Stage:
    def __init__(self, broker: BrokerProcess, consumer: str) -> None:
        self._broker, self._sink, self._numbers = broker, consumer, itertools.count(1)

    def prepare(self) -> None:
        self._made("PUT", "/api/world", WORLD)
        self._made("PUT", "/api/ontologies/base", ONTOLOGY, TURTLE)
        for name in ("Chair", "asker"):
            self._made("POST", "/api/notifiers", {"name": name, "categories": ["Desks"]})

    def ask(self, case: Case, who: str) -> tuple[Answer, Values]:
        """After what it needs was made anew."""
        values = self._fresh()
        values |= MAKERS[case.made](self, values) if case.made else {}
        in_address = {name: quote(value, safe="") for name, value in values.items()}
        body = Template(case.body.decode()).substitute(values).encode()
        target = Template(case.target).substitute(in_address)
        return self.request(case.method, target, who, body, case.headers), values

    def request(
        self, method: str, target: str, who: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        shown = {} if who == "nobody" else dict(basic(who))
        connection = http.client.HTTPConnection("127.0.0.1", self._broker.port, timeout=PATIENCE)
        try:
            connection.request(method, target, body or None, {**(headers or {}), **shown})
            answer = connection.getresponse()
            kind = answer.headers.get("Content-Type", "")
            endless = answer.status == 101 or kind.startswith(ENDLESS)
            return Answer(answer.status, kind, b"" if endless else answer.read())
        finally:
            connection.close()

    def _fresh(self) -> Values:
        number = str(next(self._numbers))
        return {"n": number, "id": f"x{number}", "sink": self._sink}

    def _made(self, method: str, path: str, body: object, kind: str = JSON, who: str = "admin", **values: str) -> Any:
        text = body if isinstance(body, str) else json.dumps(body)
        sent = Template(text).substitute({"sink": self._sink} | values)
        answer = self.request(method, path, who, sent.encode(), {"Content-Type": kind})
        assert answer.status in (200, 201, 202), (method, path, answer.status, answer.body)
        return answer.document if answer.kind.startswith(JSON) else answer.body

    def _until(self, path: str, good: Callable[[Answer], bool]) -> Answer:
        deadline = time.monotonic() + PATIENCE
        while not good(answer := self.request("GET", path, "admin")):
            assert time.monotonic() < deadline, (path, answer.status, answer.body)
            time.sleep(LOOK)
        return answer

    def nothing(self, values: Values) -> Values:
        return {}

    def subscription(self, values: Values) -> Values:
        asked = {"consumer": "$sink/consumer", "topic": "flood"}
        return {"id": self._made("POST", "/api/subscriptions", asked, who="alice")["id"]}

    def paused_subscription(self, values: Values) -> Values:
        made = self.subscription(values)
        self._made("POST", f"/api/subscriptions/{made['id']}/pause", "")
        return made

    def ce_subscription(self, values: Values) -> Values:
        return {"id": self._made("POST", "/api/cloudevents/subscriptions", CE_SUBSCRIPTION, who="alice")["id"]}

    def soap_subscription(self, values: Values) -> Values:
        return self._subscribed(wsn_subscribe(f"{self._sink}/soap", "flood"))

    def wse_subscription(self, values: Values) -> Values:
        return self._subscribed(wse_subscribe(f"{self._sink}/soap", "flood"))

    def _subscribed(self, said: Said) -> Values:
        answer = self.request("POST", "/broker", "alice", said[1], dict(said[0]))
        assert answer.status == 200, answer.body
        return {"id": manager_of(answer.body).rpartition("/")[2]}

    def pull_point(self, values: Values) -> Values:
        made = self._made("POST", "/api/pullpoints", {"topic": "flood"}, who="alice")
        return {"id": made["id"], "address": made["address"]}

    def registration(self, values: Values) -> Values:
        return {"id": self._made("POST", "/api/registrations", {"topics": ["flood"]}, who="alice")["id"]}

    def consent(self, values: Values) -> Values:
        path = f"c{values['n']}"
        asked = {"consumer": f"$sink/{path}", "topic": "flood", "consent": True}
        subscription = self._made("POST", "/api/subscriptions", asked, who="alice")["id"]
        self._until("/api/consents", lambda answer: subscription in answer.body.decode())
        deadline = time.monotonic() + PATIENCE
        while not Sink.callbacks:
            assert time.monotonic() < deadline, "asked for consent"
            time.sleep(LOOK)
        return {"id": Sink.callbacks.pop().rpartition("/")[2], "mark": subscription}

    def secret(self, values: Values) -> Values:
        return self._secret({"name": f"s{values['n']}", "kind": "bearer", "value": "x"})

    def secret_for_the_sink(self, values: Values) -> Values:
        return self._secret({"name": f"s{values['n']}", "kind": "bearer", "value": "x", "for": "$sink/consumer"})

    def _secret(self, asked: object) -> Values:
        return {"id": self._made("POST", "/api/secrets", asked)["name"]}

    def notifier(self, values: Values) -> Values:
        """Whose service is Alice's."""
        name = f"S{values['n']}"
        made = self._made("POST", "/api/notifiers", {"name": name, "categories": ["Owned"], "owner": "alice"})
        return {"id": name, "subscription": made["subscription"]}

    def subscription_of_a_notifier(self, values: Values) -> Values:
        return {"id": self.notifier(values)["subscription"]}

    def request_asked(self, values: Values) -> Values:
        """Alice's service asks the Chair, which is the operator's."""
        service = self.notifier(values)["id"]
        return {"id": self._made("POST", "/api/requests", ASK, who="alice", id=service)["id"], "service": service}

    def question(self, values: Values) -> Values:
        """The other way round."""
        service = self.notifier(values)["id"]
        asked = {**ASK, "by": "asker", "of": service}
        return {"id": self._made("POST", "/api/requests", asked, who="asker")["id"], "service": service}

    def dissemination(self, values: Values) -> Values:
        notifier = self.notifier(values)["id"]
        asked = {"topic": "flood", "data": 1}
        made = str(self._made("POST", f"/api/notifiers/{notifier}/publish", asked, who="alice")["id"])
        self._until("/api/disseminations?limit=1000", lambda answer: made in answer.body.decode())
        return {"id": made}

    def view(self, values: Values) -> Values:
        """Of the replies to what Alice published."""
        notifier = self.notifier(values)["id"]
        asked = {"topic": "flood", "data": 1, "reply_type": "boolean"}
        made = self._made("POST", f"/api/notifiers/{notifier}/publish", asked, who="alice")
        return {"id": str(made["view"]).rpartition("/")[2]}

    def reply_token(self, values: Values) -> Values:
        """Of what Alice was told."""
        point = self.pull_point(values)["id"]
        asked = event("flood") | {"replytype": "boolean"}
        self._made("POST", "/events", asked, EVENT, "alice", n=f"r{values['n']}")
        found = self._until(f"/api/pullpoints/{point}/messages", lambda answer: b"replyto" in answer.body)
        told = next(each["event"] for each in found.document["items"] if "replyto" in each["event"])
        return {"id": told["replyto"].rpartition("/")[2]}

    def message(self, values: Values) -> Values:
        self._made("POST", "/events", event("flood"), EVENT, "alice", n=f"m{values['n']}")
        return {"id": f"em{values['n']}"}

    def place(self, values: Values) -> Values:
        """Where in the log that is."""
        said = self.message(values)["id"]
        found = self._until(f"/api/trace/{said}", lambda answer: answer.status == 200)
        return {"id": str(found.document["notification"]["offset"]), "mark": said}

    def subscription_and_message(self, values: Values) -> Values:
        made, place = self.subscription(values), self.place(values)
        return made | {"message": place["mark"], "offset": place["id"], "mark": place["mark"]}

    def topic(self, values: Values) -> Values:
        last = f"t{values['n']}t"
        self._made("POST", "/events", event(f"flood/{last}"), EVENT, "alice", n=values["n"])
        self._until("/api/topics", lambda answer: last in answer.body.decode())
        return {"id": f"flood/{last}", "mark": last}

    def namespace(self, values: Values) -> Values:
        uri = f"urn:ns:{values['n']}:"
        self._made("PUT", "/api/topics/namespaces", TOPICS.format(uri), XML)
        return {"id": uri}

    def ontology(self, values: Values) -> Values:
        name = f"o{values['n']}"
        self._made("PUT", f"/api/ontologies/{name}", ONTOLOGY.replace("base", name), TURTLE)
        return {"id": name}

    def lifting(self, values: Values) -> Values:
        name = f"l{values['n']}"
        self._made("PUT", f"/api/liftings/{name}", LIFTING, n=values["n"])
        return {"id": name}

    def producer(self, values: Values) -> Values:
        name = f"urn:p:{values['n']}"
        self._made("PUT", f"/api/producers/{name}", {"categories": ["hospital"]})
        return {"id": name}

    def space(self, values: Values) -> Values:
        name = f"w{values['n']}"
        self._made("PUT", f"/api/spaces/{name}", SPACE)
        return {"id": name}

    def category(self, values: Values) -> Values:
        return self._of_world("categories", f"C{values['n']}", {"parent": "Desks", "owner": "alice"})

    def world_topic(self, values: Values) -> Values:
        return self._of_world("topics", f"T{values['n']}", {})

    def service(self, values: Values) -> Values:
        return self._of_world("services", f"X{values['n']}", {"categories": ["Owned"]})

    def _of_world(self, table: str, name: str, asked: object) -> Values:
        self._made("PUT", f"/api/world/{table}/{name}", asked)
        return {"id": name}

    def edge(self, values: Values) -> Values:
        return self._edge(values, EDGE, "admin")

    def own_edge(self, values: Values) -> Values:
        """It leaves Alice's category."""
        return self._edge(values, OWN_EDGE, "admin")

    def proposed_edge(self, values: Values) -> Values:
        return self._edge(values, EDGE, "alice")

    def _edge(self, values: Values, edge: dict[str, str], who: str) -> Values:
        topic = self.world_topic(values)["id"]
        self._made("PUT", "/api/world/edges", edge | {"topic": topic}, who=who)
        return {"id": topic, "source": edge["source"], "target": edge["target"]}


MAKERS: dict[str, Callable[[Stage, Values], Values]] = {
    name.replace("_", " "): made
    for name, made in vars(Stage).items()
    if not name.startswith("_") and name not in ("prepare", "ask", "request")
}
MAKERS["request"] = Stage.request_asked


def know_principals(data: Any) -> None:
    known(data, "admin", Right("manage"))
    for name in ("alice", "carol"):
        known(data, name, about("publish", MINE), about("subscribe", MINE))
    known(data, "dan", about("manage", MINE))
    known(data, "asker", Right("publish"), Right("subscribe"))
    known(data, "bob")
