"""`/api/status` and `/healthz`: what the node has done, and whether it is well."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.doors.api.gathering import Share, sums
from tocsin.doors.api.router import Answer, Resource
from tocsin.mediation.times import timestamp
from tocsin.model import paths

status = Resource(paths.STATUS)
health = Resource(paths.HEALTH)


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> dict[str, Any]:
    """All together, and each by itself; a log's end is a node's own."""
    del query
    figures = {each.node: each.document for each in shares}
    return sums(list(figures.values())) | {"offset": shares[0].document["offset"], "nodes": figures}


@status.get(says="What the node has done and is doing; in a ring, all nodes together", merge=_merged)
def get_status(node: Node, caller: Caller) -> dict[str, Any]:
    return node.figures(caller)


@health.get(says="Whether the node accepts anything", public=True, hidden=True)
def get_health(node: Node) -> Answer[dict[str, str]]:
    if (reason := node.problem()) is not None:
        return Answer({"status": "failing", "reason": reason}, status=503)
    return Answer({"status": "ok", "time": timestamp(node.now())})
