"""The table of cross deliveries in `docs/clients.md`, from those that take part; run as a module, it writes it."""

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from tests.clients.peers.registry import PUBLISHERS, RECEIVERS

DOCUMENT = Path(__file__).parents[3] / "docs" / "clients.md"
BEGIN, END = "<!-- made by tests.clients.peers.table -->\n", "<!-- end -->\n"
COMMAND = "python -m tests.clients.peers.table"
Forms = dict[str, list[str]]


def _by_client(names: Iterable[str]) -> Forms:
    found: Forms = {}
    for name in names:
        client, _, form = name.partition(", ")
        found.setdefault(client, []).append(form)
    return found


def table() -> str:
    publish, receive = _by_client(PUBLISHERS), _by_client(RECEIVERS)
    lines = ["| publishes ↓ receives → | " + " | ".join(receive) + " |", "|---" * (len(receive) + 1) + "|"]
    for client in receive:
        cells = [_cell(publish.get(client, []), forms) for forms in receive.values()]
        lines.append(f"| {client} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_forms(publish, receive), ""])


def _cell(publish: list[str], receive: list[str]) -> str:
    return f"yes ({len(publish) * len(receive)})" if publish else "–"


def _forms(publish: Forms, receive: Forms) -> list[str]:
    lines = ["| client | publishes as | receives as |", "|---|---|---|"]
    for client, forms in receive.items():
        named = client if client == "tocsin" else f"{client} {version(client)}"
        lines.append(f"| {named} | {_shown(publish.get(client))} | {_shown(forms)} |")
    return lines


def _shown(forms: list[str] | None) -> str:
    return "it cannot" if forms is None else ", ".join(each for each in forms if each) or "WS-Eventing 2004/08"


def documented() -> str:
    return DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    before, begin, rest = DOCUMENT.read_text().partition(BEGIN)
    DOCUMENT.write_text(f"{before}{begin}{table()}{END}{rest.partition(END)[2]}")
