"""The process in which expressions of subscribers are evaluated: what they can do is done to it, and it can be killed.

It reads questions from its standard input, a socket, and ends when that does. The kernel ends it when one evaluation
takes more of the processor than it may: nothing that an expression does can be in the way of that. So it outlives a
parent that is killed by no more than one evaluation.
"""

import os
import resource
import signal
import sys
from functools import lru_cache
from time import process_time
from typing import BinaryIO

import msgspec
import pyoxigraph

from tocsin.markup import jsonpath, xpath

MEMORY = 512 << 20
LONGEST_REASON = 300
READY = b"ready"
_LENGTH = 4
_KEPT = 8  # descriptions of producers, parsed: they change rarely
Question = tuple[str, str, dict[str, str], bytes]
# What they import only when it is needed cannot be read any more once the process is confined.
_FIRST: tuple[Question, ...] = (
    ("xpath", "count(/a) = 1", {}, b"<a/>"),
    ("jsonpath", "$..a[?@.b && match(@.c, 'd')]", {}, b'{"a": [{"b": 1, "c": "d"}]}'),
    ("sparql", "ASK { FILTER(REGEX('a', 'a')) }", {}, b""),
)
_decode = msgspec.msgpack.Decoder(Question).decode
_encode = msgspec.msgpack.Encoder().encode


def main(seconds: float) -> None:
    source = open(0, "rb")  # noqa: SIM115 - a descriptor, for as long as the process lives
    for each in _FIRST:
        _holds(*each)
    _confine()
    _send(READY)
    while (question := _receive(source)) is not None:
        _send(_encode(_answer(question, seconds)))


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(_LENGTH) + message


def _confine() -> None:
    """No more memory than that, no files, no network: there is no descriptor left for any."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for its parent, which ends it


def _answer(question: bytes, seconds: float) -> tuple[bool | str, float]:
    """The verdict, or why there is none; and what of the processor it took."""
    began = process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)  # nobody handles its signal, which ends the process
    found = _tried(question)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return found, process_time() - began


def _tried(question: bytes) -> bool | str:
    try:
        return _holds(*_decode(question))
    except MemoryError:
        return f"it needs more than {MEMORY >> 20} MiB of memory"
    except RecursionError:
        return "it, or what it is about, is nested too deeply"
    except Exception as problem:
        return str(problem)[:LONGEST_REASON] or type(problem).__name__


def _holds(language: str, text: str, namespaces: dict[str, str], document: bytes) -> bool:
    match language:
        case "xpath":
            return xpath.evaluate(text, namespaces, document)
        case "jsonpath":
            return jsonpath.evaluate(text, document)
        case "sparql":
            return _is_answered(text, document)
    raise ValueError(f"nothing evaluates {language} here")


def _is_answered(text: str, document: bytes) -> bool:
    """Of ASK the answer, of SELECT whether there is one. Updates are no queries, and SERVICE finds no network."""
    found = _graph(document).query(text)
    match found:
        case pyoxigraph.QueryBoolean():
            return bool(found)
        case pyoxigraph.QuerySolutions():
            return next(found, None) is not None
    raise ValueError("it is neither an ASK nor a SELECT query")


@lru_cache(maxsize=_KEPT)
def _graph(document: bytes) -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    store.load(document, format=pyoxigraph.RdfFormat.N_TRIPLES)
    return store


def _receive(source: BinaryIO) -> bytes | None:
    length = source.read(_LENGTH)
    message = source.read(int.from_bytes(length))
    return message if len(length) == _LENGTH and len(message) == int.from_bytes(length) else None


def _send(message: bytes) -> None:
    rest = memoryview(framed(message))
    while rest:
        rest = rest[os.write(0, rest) :]


if __name__ == "__main__":
    main(float(sys.argv[1]))
