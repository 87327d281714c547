"""`/events`: CloudEvents over HTTP."""

from tocsin.doors.gate import Gate
from tocsin.doors.views import place_of
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.faults import problem
from tocsin.model.identity import Pairs
from tocsin.model.paths import EVENTS
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Receive, Scope, Send, header, only, options, read_body, send_accepted, send_reply


class EventsDoor:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        node = self._gate.node
        if scope["method"] != "POST":
            asks = scope["method"] == "OPTIONS"
            await send_reply(send, options(scope, node.consumers.webhook_origins) if asks else only("POST"))
            return
        try:
            caller = self._gate.caller(scope)
            body, view = await read_body(scope, receive, node.body_limit), None
            if not cloudevents.is_empty_batch(header(scope, b"content-type"), body):
                view = await node.publishing.publish(caller, EVENTS, cloudevents.NAME, _chosen(scope), body)
        except Refusal as refusal:
            await send_reply(send, problem(refusal))
        else:
            await send_accepted(send, b"" if view is None else place_of(view, node.base_url).encode())


def _chosen(scope: Scope) -> Pairs:
    """The headers that belong to the event."""
    return tuple(
        (str(name, "latin-1"), str(value, "latin-1"))
        for name, value in scope["headers"]
        if name == b"content-type" or name.startswith(b"ce-")
    )
