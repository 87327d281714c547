"""The JSON document of the data pipeline."""

from msgspec import Struct

PIPELINE = "/api/pipeline"


class PipelineDocument(Struct, frozen=True):
    """`lag` is how many records of each log are in no published batch yet, `lag_seconds` how long the first of them
    waits; `stages` what the last batch took, in milliseconds. `state`, `stages` and `error` are what the job last told;
    only who may manage everything is told of the error."""

    batches: int
    rows: int
    deliveries: int
    replays: int
    end: dict[str, int]
    lag: dict[str, int]
    last: str | None
    lag_seconds: float
    state: str | None
    stages: dict[str, int]
    error: str | None
