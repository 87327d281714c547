"""Paper 004, s5.B: what demand-based relay saves, what it costs, and when it no longer pays."""

from collections.abc import Sequence

from msgspec import Struct

from tocsin.lab.experiment import Columns, Figure, Findings, Outcome, Progress, experiment
from tocsin.lab.experiments._relay_figure import draw
from tocsin.lab.experiments._relay_points import Point, Workload, crossing, measured
from tocsin.routing.ring.demand import DemandSettings

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
LENGTHS = (1, 2, 3, 5, 10, 30, 100, 300)
CHANGES = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0, 10.0)
PUBLISHERS = (1, 4)
RATES = (0.1, 1.0, 10.0)  # a second
LEASES = (1.0, 3.0, 10.0, 30.0)  # seconds
COUNTED: Columns = {
    "without": "without", "relayed": "relays", "asked": "questions", "told": "tells", "ends told": "ends",
    "with": "messages", "with / without": lambda each: round(each.ratio, 3), "as in paper": "counted_as_in_paper",
    "as in paper / without": lambda each: round(each.paper_ratio, 3), "hidden": "hidden",
}  # fmt: skip


class Choices(Struct, frozen=True):
    """Topics in each ring; the most notifications on a topic where that is what grows, and how many where subscriptions
    change."""

    topics: int = 40
    longest: int = 300
    notifications: int = 200


@experiment(
    "relay", "DHT broker s5.B: messages with and without relay on demand; when it no longer pays", choices=Choices
)
def relay(seed: int, progress: Progress, choices: Choices) -> Outcome:
    lengths = [each for each in LENGTHS if each <= choices.longest]
    progress("topics that are wanted, and not")
    wanted = [measured(Workload(choices.topics, length, share), seed) for share in SHARES for length in lengths]
    progress("subscriptions that come and go")
    changed = [
        measured(Workload(choices.topics, choices.notifications, changes=changes, publishers=publishers), seed)
        for publishers in PUBLISHERS
        for changes in CHANGES
    ]
    progress("leases")
    leases = [
        measured(Workload(choices.topics, round(30 * rate), rate=rate, lease=lease), seed)
        for lease in LEASES
        for rate in RATES
    ]
    tables = (wanted_findings(wanted), changed_findings(changed), lease_findings(leases))
    return Outcome(tables, (Figure("messages", lambda path: draw(path, wanted, changed)),))


def wanted_findings(found: Sequence[Point]) -> Findings:
    columns: Columns = {"wanted": "workload.wanted", "notifications a topic": "workload.notifications", **COUNTED}
    unwanted = [each for each in found if not each.workload.wanted]
    all_wanted = [each for each in found if each.workload.wanted == 1]
    pays = next((each.workload.notifications for each in unwanted if each.paper_ratio < 1), None)
    last = unwanted[-1]
    return Findings.of(
        "Some topics are wanted all the time, the others never",
        found,
        columns,
        f"Of {last.workload.notifications} notifications on a topic that nobody wants"
        f" {last.relays / last.workload.topics:.1f} are relayed: about one a lease.",
        f"Where everything is wanted it costs {max(each.messages - each.without for each in all_wanted)} messages: a"
        " question travels with a notification. As the paper counts, it costs two for each question.",
        f"As the paper counts it pays on a topic that nobody wants from {pays} notifications on; here it never costs"
        f" more than relaying all (worst: {max(each.ratio for each in found):.3f}).",
    )


def changed_findings(found: Sequence[Point]) -> Findings:
    columns: Columns = {"publishers": "workload.publishers", "changes a notification": "workload.changes", **COUNTED}
    notes = []
    for publishers in PUBLISHERS:
        here = [each for each in found if each.workload.publishers == publishers]
        notes.append(
            f"With {publishers} interface node{'s' * (publishers > 1)} a topic it stops paying at"
            f" {_text(crossing(here, 'ratio'))} changes for each notification of a node, as the paper"
            f" counts at {_text(crossing(here, 'paper_ratio'))}."
        )
    worst = max(found, key=lambda each: each.ratio)
    return Findings.of(
        "Each topic is wanted half of the time: subscriptions and cancellations take turns",
        found,
        columns,
        *notes,
        f"It never costs more than {worst.ratio:.2f} times as many messages (as the paper counts"
        f" {max(each.paper_ratio for each in found):.2f}): a registration is used once, so there is at most one message"
        " that tells and one that ends for each question, however often subscriptions change.",
    )


def lease_findings(found: Sequence[Point]) -> Findings:
    margin = 1 + DemandSettings().margin
    columns: Columns = {
        "lease s": "workload.lease",
        "notifications a second": "workload.rate",
        "without": "without",
        "with": "messages",
        "with / without": lambda each: round(each.ratio, 3),
        "longest wait of a subscriber s": lambda each: round(each.workload.lease * margin, 1),
    }
    return Findings.of(
        "How long it is held that nobody wants a topic, on topics that nobody wants",
        found,
        columns,
        "A longer lease saves little where a topic has many notifications a second. It is also how long a subscriber"
        " waits for its acknowledgement when an interface node, or the rendezvous before, is gone without a word.",
    )


def _text(value: float | None) -> str:
    return "none of these" if value is None else f"{value:.2f}"
