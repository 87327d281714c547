"""The process Spark forks its Python workers from.

Spark puts its own copy of PySpark, a zip without byte code, first on the path: that is a second of compiling for each
kind of worker. Here the installed copy comes first, and what workers need is imported before they are forked.
"""

import sys
from importlib import import_module
from importlib.util import find_spec

_NEEDED = {"pyspark.worker": "tocsin.pipeline.task"}


def _prefer_installed() -> None:
    archives = [place for place in sys.path if place.endswith((".zip", ".jar"))]
    installed = [place for place in sys.path if place not in archives]
    sys.path[:] = installed
    if find_spec("pyspark") is None:
        sys.path[:] = [*archives, *installed]


def main() -> None:
    _prefer_installed()
    for name in (sys.argv[1], _NEEDED.get(sys.argv[1], "tocsin.pipeline.source")):
        import_module(name)
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
