"""How hard to try: EFFORT=0.1 for a quick look, 10 for a long one."""

import os

EFFORT = float(os.environ.get("EFFORT", 1))


def examples(number: int) -> int:
    return max(1, round(number * EFFORT))
