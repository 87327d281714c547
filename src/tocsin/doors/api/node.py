"""`/api/status` and `/healthz`: what the node has done, and whether it is well."""

from typing import Any

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.doors.api.router import Answer, Resource
from tocsin.mediation.times import timestamp
from tocsin.model import paths

status = Resource(paths.STATUS)
health = Resource(paths.HEALTH)


@status.get(says="What the node has done and is doing")
def get_status(node: Node, caller: Caller) -> dict[str, Any]:
    return node.figures(caller)


@health.get(says="Whether the node accepts anything", public=True, hidden=True)
def get_health(node: Node) -> Answer[dict[str, str]]:
    if (reason := node.problem()) is not None:
        return Answer({"status": "failing", "reason": reason}, status=503)
    return Answer({"status": "ok", "time": timestamp(node.now())})
