"""`/api/pipeline`: how far the data pipeline is."""

import asyncio

from msgspec.structs import asdict

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.pipeline import PIPELINE, PipelineDocument
from tocsin.doors.api.router import Resource
from tocsin.mediation.times import timestamp

pipeline = Resource(PIPELINE)


@pipeline.get(says="How far the data pipeline is, and what its last batch took")
async def get_pipeline(node: Node, caller: Caller) -> PipelineDocument:
    found = await asyncio.to_thread(node.pipeline.figures, caller)
    last = None if found.last is None else timestamp(found.last)
    return PipelineDocument(**asdict(found) | {"last": last})
