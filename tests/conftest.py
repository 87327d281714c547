"""The same examples on every run, so that a failure seen once is seen again; and no width but what a test asks for."""

import os

from hypothesis import settings
from tests.effort import examples

os.environ.pop("COLUMNS", None)  # workers have one, and a console keeps the first it sees
settings.register_profile("tocsin", derandomize=True, deadline=None, print_blob=True, max_examples=examples(100))
settings.load_profile("tocsin")
