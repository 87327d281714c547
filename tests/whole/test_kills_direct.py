"""Direct delivery under `kill -9`: consumers may hear of what its publisher had to try again; they miss nothing."""

from pathlib import Path

import pytest
from tests.whole.kills import SETTINGS, first_receipts, killed_run, path_of

pytestmark = [pytest.mark.broker, pytest.mark.kills, pytest.mark.long]
KILLS = 6


def test_who_stayed_got_everything_in_order(tmp_path: Path) -> None:
    left = killed_run(tmp_path / "data", 7, KILLS, SETTINGS | {"delivery-mode": "direct"})
    assert left.kills == KILLS and all(len(names) > 10 for names in left.published.values())
    expected, logged = left.pairs(), {str(found.id) for found, _ in left.notifications()}
    received = {(name, path) for path, names in left.received.items() for name in names}
    ended = {path_of(each) for each in left.latest().values() if each.state == "ended"}
    assert {pair for pair in expected - received if pair[1] not in ended} == set(), "who did not leave got all of it"
    assert {name for names in left.published.values() for name in names} <= logged
    for path in (path for path in left.subscribed.values() if path.startswith("stays")):
        for producer in left.published:
            own = [each for each in first_receipts(left.received[path]) if each.startswith(f"{producer}:")]
            assert own == sorted(own, key=lambda each: int(each.rpartition(":")[2]))
