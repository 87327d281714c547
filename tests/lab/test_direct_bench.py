"""A small run of the benchmark of direct delivery: that both ways deliver, not how fast."""

import pytest

from tocsin.lab.benches.broker import Sizes
from tocsin.lab.benches.direct import results


@pytest.mark.long
@pytest.mark.broker
def test_both_ways_are_measured() -> None:
    queue, direct = results(1, Sizes(per_second=200, slices=1, slice_messages=20), rounds=1)
    assert (queue.rival, direct.rival) == (None, "the same with a queue")
    assert direct.rival_value == queue.ours > 0 and direct.ours > 0
    assert {each.sizes["messages"] for each in (queue, direct)} == {20}
