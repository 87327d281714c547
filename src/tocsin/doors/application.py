"""All doors of a node under one address."""

from tocsin.doors.api.api import api
from tocsin.doors.events import EventsDoor
from tocsin.doors.gate import Gate
from tocsin.doors.notifiers import PATH as NOTIFIERS
from tocsin.doors.notifiers import NotifierDoor
from tocsin.doors.peers import PeerDoor
from tocsin.doors.ring import ring_door
from tocsin.doors.ring_views import views_door
from tocsin.doors.soap import SoapDoor
from tocsin.doors.workers import workers_door
from tocsin.doors.wsdl import description
from tocsin.mediation.topics import PUBLISH_DOOR
from tocsin.mediation.ws import onvif
from tocsin.model.paths import BROKER, EVENTS, TOPIC_DOCUMENTS
from tocsin.wire.asgi import Application, Disconnected, Receive, Scope, Send, only, options, send_reply
from tocsin.wire.peer_messages import PEERS


def doors(gate: Gate) -> Application:
    node = gate.node
    soap_door, events, rest = SoapDoor(gate), EventsDoor(gate), api(gate)
    notifiers, peer_door = NotifierDoor(gate), PeerDoor(node.implicit.peer_side, node.tree)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await rest(scope, receive, send)
            return
        path: str = scope["path"]
        try:
            if path == BROKER or path.startswith(f"{BROKER}/"):
                if scope["method"] == "POST":
                    await soap_door(scope, receive, send)
                elif scope["method"] == "OPTIONS" and f"{path}/".startswith(f"{PUBLISH_DOOR}/"):
                    await send_reply(send, options(scope, node.consumers.webhook_origins))
                elif path == TOPIC_DOCUMENTS:
                    await rest(scope, receive, send)
                elif scope["method"] == "GET" and (described := description(scope, node.base_url)) is not None:
                    await send_reply(send, described)
                else:
                    await send_reply(send, only("POST"))
            elif path in (onvif.DEVICE_DOOR, onvif.EVENTS_DOOR):
                await (soap_door(scope, receive, send) if scope["method"] == "POST" else send_reply(send, only("POST")))
            elif path == EVENTS:
                await events(scope, receive, send)
            elif path.startswith(NOTIFIERS):
                await notifiers(scope, receive, send)
            elif path.startswith(f"{PEERS}/"):
                await peer_door(scope, receive, send)
            else:
                await rest(scope, receive, send)
        except Disconnected:
            return

    if node.ring is None:
        return application
    limit = node.body_limit
    door = views_door(node.ring, application, ring_door(node.ring, application, limit), limit)
    worker = node.settings.worker
    return door if worker is None else workers_door(node.ring, worker.first or node.journal.node, door, limit)
