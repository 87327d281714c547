"""The data pipeline as functions on DataFrames, for notebooks and programs of one's own.

    from tocsin.spark import Subscriptions, customise, match, normalise, read_log

    wanted = Subscriptions("data")
    sent = customise(match(normalise(read_log(spark, "data")), wanted), wanted)

They are the functions that `tocsin pipeline run` and `replay` go by. docs/notebook.md shows them at work.
"""

from tocsin.model.subscription import Subscription
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.frames import customise, match, normalise, read_log, read_table, stream_log
from tocsin.pipeline.subscriptions import Subscriptions

__all__ = [
    "PipelineError",
    "Subscription",
    "Subscriptions",
    "customise",
    "match",
    "normalise",
    "read_log",
    "read_table",
    "stream_log",
]
