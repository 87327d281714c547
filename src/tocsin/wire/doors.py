"""All doors of a node under one address."""

from tocsin.wire import events_door
from tocsin.wire.api import api
from tocsin.wire.asgi import Application, Disconnected, Receive, Scope, Send, only, send_reply
from tocsin.wire.events_door import EventsDoor
from tocsin.wire.port import Broker
from tocsin.wire.soap_door import SoapDoor


def doors(broker: Broker) -> Application:
    soap_door, events, rest = SoapDoor(broker), EventsDoor(broker), api(broker)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await rest(scope, receive, send)
            return
        path: str = scope["path"]
        try:
            if path == "/broker" or path.startswith("/broker/"):
                if scope["method"] == "POST":
                    await soap_door(scope, receive, send)
                else:
                    await send_reply(send, only("POST"))
            elif path == events_door.PATH:
                await events(scope, receive, send)
            else:
                await rest(scope, receive, send)
        except Disconnected:
            return

    return application
