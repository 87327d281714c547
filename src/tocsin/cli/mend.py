"""The quarantine tried again, for eyes: what is mended, and what still fails and why."""

from collections.abc import Mapping

from tocsin.cli.output import counted, fail, give, say, show_whole, table
from tocsin.cli.progress import spark_bar
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.mend import Mended, MendSettings, mend


def run_mend(settings: MendSettings, *, json: bool) -> None:
    try:
        with spark_bar("trying again") as bar:
            found = mend(settings, bar.tell)
    except PipelineError as problem:
        fail(str(problem))
    if json:
        give(found)
    else:
        show(found)


def show(found: Mended) -> None:
    if not found.quarantined:
        say("there is nothing in the quarantine that is not mended")
        return
    _show("mended; it was", found.mended)
    _show("still fails", found.failing)
    say(
        f"of {counted(found.quarantined, 'row')} {sum(found.mended.values()):,} can be mended:"
        f" {counted(found.notifications, 'notification')}, {counted(found.matches, 'match', 'matches')},"
        f" {counted(found.deliveries, 'delivery', 'deliveries')}"
    )
    if found.published:
        say(f"{counted(found.deliveries, 'delivery is', 'deliveries are')} in the outbox and will be sent")
    elif found.mended:
        say("nothing was changed. Say --deliver to do it.")


def _show(title: str, reasons: Mapping[str, int]) -> None:
    if reasons:
        rows = [(reason, f"{count:,}") for reason, count in sorted(reasons.items(), key=lambda each: -each[1])]
        show_whole(table((title, "rows"), rows, right=(1,)))
