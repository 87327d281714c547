"""A session by Spark Connect: the driver is elsewhere, and this program asks it."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.sources import register

PORT = 15002  # of a Connect server, unless its address says another
_SECONDS = 10.0


@contextmanager
def connected(remote: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """`conf` may have settings of a session, such as spark.sql.shuffle.partitions; all others are the server's."""
    _check_answers(remote)
    try:
        builder = SparkSession.builder.remote(remote)
        for key, value in conf.items():
            builder = builder.config(key, value)
        opened = builder.getOrCreate()
    except ImportError as problem:
        raise PipelineError("Spark Connect needs more packages: pip install 'pyspark[connect]'") from problem
    try:
        register(opened)
        yield opened
    finally:
        opened.stop()


def _check_answers(remote: str) -> None:
    """Spark itself would try for ten minutes."""
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, 0
    if not remote.startswith("sc://") or not host:
        raise PipelineError(f"{remote!r} is not the address of a Connect server; write one such as sc://host:{PORT}")
    try:
        socket.create_connection((host, port), _SECONDS).close()
    except OSError as problem:
        hint = "start one there with sbin/start-connect-server.sh of Spark, or name another"
        raise PipelineError(f"no Connect server answers at {remote}: {problem}; {hint}") from problem
