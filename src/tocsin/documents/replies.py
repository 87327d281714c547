"""The JSON documents of replies: what a publisher sees of them, and what a receiver is asked and says."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from tocsin.mediation.times import timestamp
from tocsin.model.histogram import Histogram
from tocsin.model.identity import Instant
from tocsin.model.paths import REPLIES as REPLIES
from tocsin.routing.reply.messages import View
from tocsin.routing.reply.waiting import Met

VIEWS = "/api/views"


class BucketDocument(Struct, frozen=True):
    """`at_most` is there where smaller values were summed up: so many may have said it."""

    value: str
    count: int
    at_most: int | None = None

    @classmethod
    def all_of(cls, histogram: Histogram) -> list["BucketDocument"]:
        """The most frequent first."""
        short = histogram.short
        return [
            cls(value, count, count + short[value] if value in short else None) for value, count in histogram.ranked()
        ]


class ViewDocument(Struct, frozen=True):
    """The replies to a publication. `outstanding` have got it and not replied; that is exact, or else at least so many.

    `not_reached` are those whose delivery was given up, `late` the replies that came after the end. `rest` are replies
    whose values are not in the histogram, because there were too many different ones. `met` is what a wait ended by.
    """

    id: str
    reply_type: str
    topic: str
    until: str
    receivers: int
    replied: int
    not_reached: int
    outstanding: int
    exact: bool
    complete: bool
    late: int
    ended: str
    histogram: list[BucketDocument]
    rest: int
    met: Met | None = None

    @classmethod
    def of(cls, view: View, met: Met | None = None) -> "ViewDocument":
        return cls(
            view.id,
            view.type,
            view.topic,
            timestamp(view.until),
            view.receivers,
            view.replied,
            view.unreached,
            view.outstanding,
            view.exact,
            view.complete,
            view.late,
            view.ended,
            BucketDocument.all_of(view.histogram),
            view.histogram.rest,
            met,
        )


class QuestionDocument(Struct, frozen=True):
    """What a token may be used for, until when."""

    reply_type: str
    topic: str
    until: str

    @classmethod
    def of(cls, reply_type: str, topic: str, until: Instant) -> "QuestionDocument":
        return cls(reply_type, topic, timestamp(until))


class ReplyRequestDocument(Struct, frozen=True, forbid_unknown_fields=True):
    """A text, a number, true or false, or for a JSON type any JSON."""

    value: Annotated[Any, Meta(description="A text, a number, true or false, or for a JSON type any JSON")]
