"""The combining step for many terms, compiled."""

import numpy as np
from numpy.typing import NDArray

from tocsin.matching.jit import kernel

Numbers = NDArray[np.int32]
Levels = NDArray[np.float64]
Times = NDArray[np.int64]


@kernel
def wanting(
    numbers: Numbers,
    reached: Levels,
    sides: Numbers,
    limits: Levels,
    level: Levels,
    start: Numbers,
    count: Numbers,
    filed_bounds: Levels,
    filed_terms: Numbers,
    filed_numbers: Numbers,
    filed_more: Levels,
    atoms: Numbers,
    bounds: Levels,
    slot: Numbers,
    since: Times,
    until: Times,
    offset: int,
    when: int,
    found: Numbers,
) -> int:
    """How many terms hold whose subscriptions stand: their slots are written into `found`, inverted if partly decided.

    `numbers` have the levels `reached`, and `sides` have `limits`; `level` is by number, and is left as it was.
    """
    numbers, reached = np.concatenate((numbers, sides)), np.concatenate((reached, limits))
    for at in range(len(numbers)):
        level[numbers[at]] = reached[at]
    end = 0
    for at in range(len(numbers)):
        first = start[numbers[at]]
        for place in range(first, first + count[numbers[at]]):
            if filed_bounds[place] > reached[at]:
                break
            if not level[filed_numbers[place]] >= filed_more[place]:
                continue
            term = filed_terms[place]
            holds = True
            for other in range(2, atoms.shape[1]):
                holds &= level[atoms[term, other]] >= bounds[term, other]
            if holds:
                standing = max(slot[term], ~slot[term])
                found[end] = slot[term]
                end += since[standing] <= offset and until[standing] > when
    for number in numbers:
        level[number] = np.nan
    return end
