"""How long a subscriber lets notifications wait for one another, as it is asked for and shown."""

from msgspec.structs import replace

from tocsin.mediation import times
from tocsin.model.identity import SECOND
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form

_MILLISECOND = SECOND // 1000


def with_latency(form: Form, text: str | None) -> Form:
    """Nothing waits without."""
    if text is None:
        return form
    try:
        milliseconds = times.duration(text) // _MILLISECOND
    except Refusal:
        hint = "write a duration such as PT1S or PT0.25S"
        raise Refusal("unsupported-delivery", f"the max_latency {text[:80]!r} cannot be used; {hint}") from None
    if form.together == 1:
        text = "max_latency is about messages with several notifications: batches of CloudEvents, and Notify"
        raise Refusal("unsupported-delivery", f"{text}; what is asked for is sent one by one")
    return replace(form, max_latency_ms=milliseconds)


def latency_text(form: Form) -> str:
    return times.lasting(form.max_latency_ms * _MILLISECOND) if form.max_latency_ms else ""
