"""The same examples on every run, so that a failure seen once is seen again."""

from hypothesis import settings
from tests.effort import examples

settings.register_profile("tocsin", derandomize=True, deadline=None, print_blob=True, max_examples=examples(100))
settings.load_profile("tocsin")
