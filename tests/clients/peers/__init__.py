"""Clients that others wrote, each behind the same few calls."""

import warnings

with warnings.catch_warnings():
    # It warns of its own module when it imports it.
    warnings.filterwarnings("ignore", "commlog module is deprecated", DeprecationWarning)
    import sdc11073.commlog  # noqa: F401
