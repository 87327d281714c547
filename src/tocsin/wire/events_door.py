"""`/events`: CloudEvents over HTTP."""

from tocsin.mediation import cloudevents
from tocsin.mediation.faults import problem
from tocsin.model.identity import Pairs
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Receive, Scope, Send, only, read_body, send_accepted, send_reply
from tocsin.wire.port import Broker

PATH = "/events"


class EventsDoor:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await send_reply(send, only("POST"))
            return
        try:
            body = await read_body(scope, receive, self._broker.body_limit)
            await self._broker.publish(PATH, cloudevents.NAME, _chosen(scope), body)
        except Refusal as refusal:
            await send_reply(send, problem(refusal))
        else:
            await send_accepted(send)


def _chosen(scope: Scope) -> Pairs:
    """The headers that belong to the event."""
    return tuple(
        (str(name, "latin-1"), str(value, "latin-1"))
        for name, value in scope["headers"]
        if name == b"content-type" or name.startswith(b"ce-")
    )
