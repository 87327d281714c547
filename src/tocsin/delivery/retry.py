"""What an answer means for a delivery, and how long to wait before the next try."""

from random import Random

from tocsin.delivery.settings import DeliverySettings
from tocsin.model.delivery import PASSING, Result
from tocsin.wire.answer import Answer

_TOLD = 200


def final(answer: Answer) -> bool:
    """Whether another try could not change it."""
    return answer.refused or 200 <= answer.status < 300 or (400 <= answer.status < 500 and answer.status not in PASSING)


def judge(answer: Answer, attempt: int, settings: DeliverySettings) -> Result:
    if 200 <= answer.status < 300:
        return "delivered"
    return "dead" if final(answer) or attempt >= settings.attempts else "retry"


def judge_of_node(answer: Answer) -> Result:
    """Whatever another node of ours answers may heal: it comes back, its key is put right. What it can never read, or
    is too large for it, is given up."""
    if 200 <= answer.status < 300:
        return "delivered"
    return "dead" if answer.status in (400, 413) else "retry"


def delay(answer: Answer, attempt: int, settings: DeliverySettings, random: Random) -> float:
    """Full jitter below a doubling ceiling, and not before the consumer said."""
    ceiling = min(settings.longest_delay, settings.first_delay * 2 ** min(attempt - 1, 60))
    return max(random.uniform(0, ceiling), min(answer.retry_after, settings.longest_retry_after))


def describe(answer: Answer) -> str:
    """One line for a dead letter: what the consumer said, or why it said nothing."""
    if not answer.status:
        return answer.error
    said = " ".join(answer.body[:_TOLD].decode(errors="replace").split())
    return f"HTTP {answer.status}: {said}" if said and answer.status >= 300 else f"HTTP {answer.status}"
