"""Expressions judged in a process of their own: verdicts, and whatever an expression does to it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from tests.judging import DEEP, is_there, judges_of, ticks, wide

from tocsin.matching.judge import Undecided
from tocsin.model.filters import AllOf, AnyOf, Content, Language, Not, TopicIs
from tocsin.store.judge import judge as judging
from tocsin.store.judge.judge import CROWDED, NO_PROCESS, TRIES, ProcessJudge

SMALL = b"<a><b>xyz</b><b>q</b></a>"
GOOD = Content("xpath", "contains(/a/b, 'y')")
PERSON = b'<urn:ann> <urn:age> "41"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
SLOW = """
import sys, time
from tocsin.model.filters import Content
from tocsin.store.judge.judge import ProcessJudge

judge = ProcessJudge(1.0)
judge.judge(Content("xpath", "count(/a) = 1"), b"<a/>")
print("ready", flush=True)
if sys.argv[1] == "busy":
    judge.judge(Content("xpath", sys.argv[2]), sys.argv[3].encode())
time.sleep(60)
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[ProcessJudge]:
    """For tests that leave it alive."""
    with closing(ProcessJudge(1.0)) as made:
        yield made


@pytest.fixture
def own() -> Iterator[ProcessJudge]:
    with closing(ProcessJudge()) as made:
        yield made


def why(judge: ProcessJudge, asked: Content, document: bytes) -> str:
    with pytest.raises(Undecided) as found:
        judge.judge(asked, document)
    return str(found.value)


def gone(process: int) -> bool:
    deadline = time.monotonic() + 10
    while is_there(process) and time.monotonic() < deadline:
        time.sleep(0.005)
    return not is_there(process)


@pytest.mark.parametrize(
    ("language", "text", "document", "verdict"),
    [
        ("xpath", "contains(/a/b, 'y')", SMALL, True),
        ("xpath", "contains(/a/b, 'q')", SMALL, False),  # of the first alone (XPath 1.0 s4.2)
        ("xpath", "number(/a/b)", SMALL, False),
        ("xpath", "count(b) * 2", SMALL, True),
        ("jsonpath", "$.a[?@.b > 1]", b'{"a": [{"b": 2}]}', True),
        ("jsonpath", "$.a[?@.b > 1]", b'{"a": [{"b": 1}]}', False),
        ("sparql", "ASK { ?who <urn:age> ?age FILTER(?age > 40) }", PERSON, True),
        ("sparql", "ASK { ?who <urn:age> ?age FILTER(?age > 41) }", PERSON, False),
        ("sparql", "SELECT ?who { ?who <urn:age> 41 }", PERSON, True),
        ("sparql", "SELECT ?who { ?who <urn:age> 40 }", PERSON, False),
    ],
)
def test_it_says_whether_an_expression_holds(
    judge: ProcessJudge, language: Language, text: str, document: bytes, verdict: bool
) -> None:
    assert judge.judge(Content(language, text), document) is verdict


def test_prefixes_are_those_of_the_expression(judge: ProcessJudge) -> None:
    document = b'<q:a xmlns:q="urn:x"><q:b>1</q:b></q:a>'
    for uri, verdict in [("urn:x", True), ("urn:y", False)]:
        assert judge.judge(Content("xpath", "count(/p:a/p:b) = 1", "payload", (("p", uri),)), document) is verdict


@pytest.mark.parametrize(
    ("language", "text", "document", "words"),
    [
        ("xpath", "p:a", SMALL, "prefix"),
        ("xpath", "unheard-of(/a)", SMALL, "function"),
        ("xpath", "count(/a) = 1", b"<a", "cannot be asked"),
        ("sparql", "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", PERSON, "neither an ASK nor a SELECT"),
        ("sparql", "DELETE WHERE { ?s ?p ?o }", PERSON, "error at 1:1"),
        ("sparql", "ASK {", PERSON, "error at 1:6"),
        ("cesql", "a = 1", b"", "nothing evaluates cesql"),
    ],
)
def test_what_cannot_be_evaluated_is_told_in_words_and_costs_nobody_the_process(
    judge: ProcessJudge, language: Language, text: str, document: bytes, words: str
) -> None:
    judge.judge(GOOD, SMALL)
    before = judges_of(os.getpid())
    assert words in why(judge, Content(language, text), document)
    assert judges_of(os.getpid()) == before


def test_an_expression_that_runs_a_minute_is_ended_at_its_deadline(own: ProcessJudge) -> None:
    assert own.judge(GOOD, SMALL)
    began = time.monotonic()
    assert why(own, Content("xpath", DEEP), wide()) in (
        "it took longer than 100 ms",
        "it was not done after 500 ms",  # on a machine with no time for it
    )
    assert time.monotonic() - began < 30
    assert own.judge(GOOD, SMALL)


def test_one_that_is_ended_each_time_is_not_evaluated_for_a_while(own: ProcessJudge) -> None:
    bad = Content("xpath", DEEP)
    reasons = [why(own, bad, wide()) for _ in range(TRIES)]
    assert own.judge(GOOD, SMALL)
    process = judges_of(os.getpid())
    assert why(own, bad, wide()) == reasons[-1]
    assert judges_of(os.getpid()) == process


def test_memory_is_bounded() -> None:
    doubled = " ".join(f"BIND(CONCAT(?a{number}, ?a{number}) AS ?a{number + 1})" for number in range(40))
    greedy = f"ASK {{ BIND('xxxxxxxx' AS ?a0) {doubled} FILTER(STRLEN(?a40) > 1) }}"
    with closing(ProcessJudge(20.0)) as judge:
        assert why(judge, Content("sparql", greedy), PERSON) == "the process that evaluates it ended (SIGABRT)"
        assert judge.judge(GOOD, SMALL)


def test_no_network_is_reached(judge: ProcessJudge) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(0.0)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert why(judge, Content("sparql", f"ASK {{ SERVICE <{address}> {{ ?s ?p ?o }} }}"), PERSON)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_process_that_ended_meanwhile_is_replaced_unnoticed(own: ProcessJudge) -> None:
    before = set(judges_of(os.getpid()))
    own.judge(GOOD, SMALL)
    (process,) = set(judges_of(os.getpid())) - before
    os.kill(process, signal.SIGKILL)
    assert gone(process)
    assert own.judge(GOOD, SMALL)


def test_a_process_that_ends_while_it_is_asked_decides_nothing() -> None:
    before = set(judges_of(os.getpid()))
    with closing(ProcessJudge(20.0)) as judge, ThreadPoolExecutor(1) as pool:
        judge.judge(GOOD, SMALL)
        (process,) = set(judges_of(os.getpid())) - before
        idle = ticks(process)
        asked = pool.submit(why, judge, Content("xpath", DEEP), wide())
        while ticks(process) < idle + 5:
            time.sleep(0.005)
        os.kill(process, signal.SIGKILL)
        assert asked.result() == "the process that evaluates it ended (SIGKILL)"
        assert judge.judge(GOOD, SMALL)


def test_one_that_hangs_is_killed(own: ProcessJudge) -> None:
    before = set(judges_of(os.getpid()))
    own.judge(GOOD, SMALL)
    (process,) = set(judges_of(os.getpid())) - before
    os.kill(process, signal.SIGSTOP)
    assert why(own, GOOD, SMALL) == "it was not done after 500 ms"
    assert gone(process)
    assert own.judge(GOOD, SMALL)


def test_where_none_starts_nobody_waits_twice(own: ProcessJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_COMMAND", (sys.executable, "-c", "pass"))
    assert why(own, GOOD, SMALL) == NO_PROCESS
    monkeypatch.setattr(judging, "_COMMAND", ("/nowhere/at/all",))
    assert why(own, GOOD, SMALL) == NO_PROCESS


def test_it_starts_when_the_first_expression_that_needs_it_is_expected(own: ProcessJudge) -> None:
    before = judges_of(os.getpid())
    own.expect((TopicIs(()), AllOf((TopicIs(()),))))
    assert judges_of(os.getpid()) == before
    own.expect((AnyOf((TopicIs(()), Not(GOOD))),))
    assert len(judges_of(os.getpid())) == len(before) + 1
    assert own.judge(GOOD, SMALL)
    assert len(judges_of(os.getpid())) == len(before) + 1


def test_all_threads_may_ask(judge: ProcessJudge) -> None:
    def ask(number: int) -> bool:
        return judge.judge(Content("xpath", f"sum(//b) = {number}"), b"<a><b>%d</b></a>" % (number - number % 2))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(200))) == [number % 2 == 0 for number in range(200)]


def looping(judge: ProcessJudge) -> None:
    """Until its process is there, which no loop waits for."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        judge.begin()
        try:
            judge.judge(GOOD, SMALL)
        except Undecided:
            time.sleep(0.005)
        else:
            judge.begin()
            return


def test_within_one_notification_an_event_loop_waits_no_longer_than_that() -> None:
    with closing(ProcessJudge(in_loop=True)) as judge:
        looping(judge)
        asked = [Content("xpath", f"{DEEP} and {number}") for number in range(9)]
        first, *others = [why(judge, each, wide()) for each in asked]
        assert first in ("it took longer than 100 ms", CROWDED)  # where the machine had no time for it
        assert set(others) == {CROWDED}
        assert why(judge, GOOD, SMALL) == CROWDED


def test_an_event_loop_does_not_wait_for_a_process_to_start() -> None:
    with closing(ProcessJudge(in_loop=True)) as judge:
        judge.begin()
        began = time.monotonic()
        assert why(judge, GOOD, SMALL) == CROWDED
        assert time.monotonic() - began < 2
        looping(judge)
        assert judge.judge(GOOD, SMALL)


def test_what_was_costly_goes_aside_from_then_on() -> None:
    with closing(ProcessJudge(in_loop=True)) as judge:
        looping(judge)
        bad = Content("xpath", DEEP)
        why(judge, bad, wide())
        looping(judge)
        process = judges_of(os.getpid())
        assert why(judge, bad, wide()) == CROWDED
        assert judges_of(os.getpid()) == process
        assert judge.judge(GOOD, SMALL)


def test_messages_written_for_one_subscriber_each_are_time_of_the_loop_too(own: ProcessJudge) -> None:
    with closing(ProcessJudge(in_loop=True)) as judge:
        judge.begin()
        for _ in range(2):
            judge.written(1 << 23)
        with pytest.raises(Undecided, match=CROWDED):
            judge.written(1)
    for _ in range(9):
        own.written(1 << 30)


@pytest.mark.parametrize("how", ["idle", "busy"])
def test_it_does_not_outlive_a_parent_that_is_killed(how: str) -> None:
    words = [sys.executable, "-c", SLOW, how, DEEP, wide().decode()]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        (process,) = judges_of(parent.pid)
        parent.kill()
    assert gone(process)


def test_it_ends_with_its_judge() -> None:
    before = set(judges_of(os.getpid()))
    with closing(ProcessJudge()) as judge:
        judge.judge(GOOD, SMALL)
        (process,) = set(judges_of(os.getpid())) - before
    assert gone(process)
