"""publish with --reply-type, subscribe with --reply, reply and views, against a running broker."""

import contextlib
import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from typing import IO, Any

import pytest
from tests.cli.commands import TOCSIN, tocsin
from tests.cli.inside import inside
from tests.effort import brief

ASK = ("publish", "-", "--topic", "beds", "--reply-type", "enum:yes,no,unknown")


@contextlib.contextmanager
def subscriber(broker: str, *words: str, stdin: Any = subprocess.DEVNULL) -> Iterator["subprocess.Popen[str]"]:
    """One that has subscribed; interrupted in the end, which it takes politely."""
    command = (*TOCSIN, "subscribe", "--print", "--topic", "beds", "--broker", broker, *words)
    with subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline().startswith(("subscribed until", "pulling from"))
        yield running
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
        assert running.returncode == 0


def typed(running: "subprocess.Popen[str]", line: str) -> None:
    assert running.stdin is not None
    running.stdin.write(f"{line}\n")
    running.stdin.flush()


def read_until(stream: "IO[str] | None", text: str) -> str:
    assert stream is not None
    found = ""
    while text not in found:
        piece = stream.read(1)
        assert piece, found
        found += piece
    return found


def histogram(view: Any) -> dict[str, int]:
    return {each["value"]: each["count"] for each in view["histogram"]}


@pytest.mark.broker
@pytest.mark.parametrize("dialect", brief(["cloudevents", "wsn-1.3", "wse-2004-08", "webhook"], "wsn-1.3"))
def test_a_person_is_asked_and_another_replies_with_the_same_to_all(broker: str, dialect: str) -> None:
    with (
        subscriber(broker, "--reply-with", "yes"),
        subscriber(broker, "--reply-with", "yes", "--pull"),
        subscriber(broker, "--reply", "--as", dialect, stdin=subprocess.PIPE) as person,
    ):
        asking = subprocess.Popen(
            (*TOCSIN, *ASK, "--as", dialect, "--broker", broker, "--json"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert asking.stdin is not None
        asking.stdin.write("how many?")
        asking.stdin.close()
        asking.stdin = None
        assert "reply (yes | no | unknown; empty for none): " in read_until(person.stderr, "none): ")
        typed(person, "perhaps")
        assert "'perhaps' is not what was asked for" in read_until(person.stderr, "none): ")
        typed(person, "no")
        assert "replied no to" in read_until(person.stderr, "replied no to")
        shown, words = asking.communicate(timeout=60)
    assert asking.returncode == 0, words
    found = json.loads(shown)["view"]
    assert (histogram(found), found["met"]) == ({"yes": 2, "no": 1}, "all")


@pytest.mark.long
@pytest.mark.broker
def test_who_does_not_reply_is_told_of_and_can_reply_later(broker: str) -> None:
    here = ("--broker", broker)
    tocsin("subscribe", "--to", "http://127.0.0.1:9/nobody", "--topic", "beds", *here)
    made = tocsin("pull", "--topic", "beds", "--keep", *here).stderr
    point = made.splitlines()[0].rpartition("/")[2]
    done = tocsin(*ASK, "--timeout", "1s", *here, check=False, text="how many?")
    assert done.returncode == 1 and done.stdout == ""
    for said in (
        "receivers, 0 replied",
        "the time is up",
        "not everybody: ",
        "replies still count until",
        "views show",
    ):
        assert said in done.stderr
    (told,) = json.loads(tocsin("pull", point, "--json", *here).stdout)["items"]
    assert told["reply_type"] == "enum:yes,no,unknown"
    asked = tocsin("reply", told["replyto"], *here, text="")
    assert "beds asks for yes | no | unknown, until " in asked.stderr
    wrong = tocsin("reply", told["replyto"], "perhaps", *here, check=False)
    assert wrong.returncode == 1 and "reply with one of yes, no, unknown" in wrong.stderr
    token = told["replyto"].rpartition("/")[2]
    assert json.loads(tocsin("reply", "--json", *here, token, "no").stdout) == {"replied": True, "value": "no"}
    again = tocsin("reply", "answer", token, "no", *here, check=False)
    assert again.returncode == 1 and "one reply counts" in again.stderr
    (view,) = json.loads(tocsin("views", "--json", *here).stdout)["items"]
    assert histogram(view) == {"no": 1}
    shown = tocsin("views", "show", view["id"], *here).stderr
    assert "█" in shown and "1 replied" in shown
    assert json.loads(tocsin("views", "show", view["id"], "--json", *here).stdout)["replied"] == 1
    ended = tocsin("views", "terminate", view["id"], *here).stderr
    assert "the view has been terminated" in ended
    watched = tocsin("views", "show", view["id"], "--watch", "--json", *here).stdout.splitlines()
    assert [json.loads(each)["ended"] for each in watched] == ["terminated"]
    assert "terminated" in tocsin("views", "list", *here).stderr


@pytest.mark.broker
def test_it_is_drawn_for_eyes_and_ended_politely(broker: str) -> None:
    here = ("--broker", broker)
    with subscriber(broker, "--reply-with", "12"), subscriber(broker):
        ours, theirs = pty.openpty()
        command = (*TOCSIN, "publish", "-", "--topic", "beds", "--reply-type", "int:-5..", *here)
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs) as asking:
            os.close(theirs)
            assert asking.stdin is not None
            asking.stdin.close()
            asking.stdin = None
            drawn = b""
            while "█".encode() not in drawn:
                drawn += os.read(ours, 4096)
            asking.send_signal(signal.SIGINT)
            asking.communicate(timeout=60)
            with contextlib.suppress(OSError):
                while piece := os.read(ours, 4096):
                    drawn += piece
            os.close(ours)
    assert asking.returncode == 1
    words = drawn.decode()
    assert "ending the view" in words and "the view has been terminated" in words
    assert "2 receivers, 1 replied, 1 outstanding" in words and "not everybody: 1 has not replied" in words


@pytest.mark.broker
def test_what_is_waited_for_can_be_less(broker: str) -> None:
    here = ("--broker", broker)
    with subscriber(broker, "--reply-with", "yes"), subscriber(broker):
        for wait, met in (("count=1", "count"), ("fraction=0.5", "fraction")):
            done = tocsin(*ASK, "--wait", wait, "--json", *here, check=False, text="?")
            found = json.loads(done.stdout)["view"]
            assert (done.returncode, found["met"], histogram(found)) == (1, met, {"yes": 1})
    at_once = tocsin(*ASK, "--wait", "none", *here, text="?")
    assert "views show" in at_once.stderr
    nobody = tocsin(*ASK, *here, text="?")
    assert "nobody got it" in nobody.stderr


@pytest.mark.broker
def test_through_a_notifier(broker: str) -> None:
    here = ("--broker", broker)
    tocsin("ino", "demo", *here)
    done = tocsin(
        *("notifiers", "publish", "IDER", "--topic", "Disaster Info", "--data", "who comes?", "--json"),
        *("--reply-type", "boolean", "--reply-for", "5m", "--timeout", "1s", *here),
        check=False,
    )
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["view"]["outstanding"] == found["view"]["receivers"] > 3
    assert tocsin("notifiers", "result", found["id"], *here).returncode == 0
    none = ("--until", "none", "--data", "?", *here)
    done = tocsin("notifiers", "publish", "IDER", "--topic", "Disaster Info", "--reply-type", "int", *none)
    assert "views show" in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((*ASK[:-1], "number"), "'number' is no reply type"),
        ((*ASK[:-1], "int:5..1"), "nothing lies between"),
        (("publish", "-", "--reply-for", "5m"), "--reply-for is about replies"),
        ((*ASK, "--wait", "most"), "--wait 'most' is not all, fraction=0.9"),
        ((*ASK, "--wait", "fraction=2"), "--wait 'fraction=2' is not"),
        ((*ASK, "--wait", "count=x"), "--wait 'count=x' is not"),
        ((*ASK, "--wait", "all=1"), "--wait 'all=1' is not"),
        ((*ASK, "--timeout", "soon"), "--timeout 'soon' is not a time"),
        (("notifiers", "publish", "A", "--topic", "t", "--data", "", "--reply-type", "x"), "is no reply type"),
        (("notifiers", "publish", "A", "--topic", "t", "--until", "x", "--reply-type", "int"), "--until 'x' is not"),
        (("subscribe", "--to", "http://127.0.0.1:9/", "--reply"), "go with --print"),
        (("subscribe", "--print", "--reply", "--reply-with", "yes"), "exclude each other"),
        (("reply", "--brokr"), "--brokr is no option"),
        (("reply", "token", "--josn"), "--josn is no option"),
        (("reply", "token", "yes", "no"), "unexpected extra argument"),
        (("views", "show"), "Missing argument"),
        (("views", "terminate", "x", "--grace", "100"), "--grace"),
    ],
)
def test_wrong_use_is_told_before_anything_is_done(words: tuple[str, ...], why: str) -> None:
    done = inside(*words, check=False, text="")
    assert done.returncode == 2, done.stderr
    assert why in " ".join(done.stderr.split())


def test_the_group_has_what_else_there_is_of_replies() -> None:
    told = inside("reply", "--help").stdout
    assert all(each in told for each in ("answer", "simulate", "plan", "ADDRESS or TOKEN"))
    assert "--branching" in inside("reply", "simulate", "--help").stdout
    assert inside("reply", check=False).returncode == 2
