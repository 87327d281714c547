"""The central history of CIN against the plainest model of it, in every order of claims."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.effort import examples

from tocsin.model.identity import Instant, MessageId
from tocsin.routing.implicit.history import CentralHistory, Grant
from tocsin.routing.implicit.messages import PUBLICATION, Claim, Granted
from tocsin.routing.machine import Answer, Expire, Forget, Remember

MESSAGES = [MessageId("m1"), MessageId("m2")]
NAMES = ["root", "a", "b", "c", "d"]
TOLD = st.lists(st.sampled_from(NAMES), unique=True).map(tuple)


def claimed(history: CentralHistory, claim: Claim, now: Instant) -> tuple[Granted, list[Grant]]:
    """The answer, and the rows."""
    *rows, answer = history.step(claim, now)
    assert isinstance(answer, Answer)
    kept = [each for each in rows if isinstance(each, Remember)]
    assert len(kept) == len(rows) and all(each.key == each.row.key for each in kept)
    return answer.message, [each.row for each in kept]


def forgotten(history: CentralHistory, before: Instant) -> set[str | None]:
    return {each.key for each in history.step(Expire(before), before) if isinstance(each, Forget)}


class Histories(RuleBasedStateMachine):
    """Each message is published by `root`; a copy has the name of whom it was for, so that claims can be made again."""

    def __init__(self) -> None:
        super().__init__()
        self.history, self.now = CentralHistory(), Instant(10)
        self.told: dict[MessageId, set[str]] = {}
        self.granted: dict[tuple[MessageId, str], list[str]] = {}
        self.begun: dict[MessageId, Instant] = {}
        self.rows: dict[str, Grant] = {}

    @rule(message=st.sampled_from(MESSAGES), names=TOLD)
    def publish(self, message: MessageId, names: tuple[str, ...]) -> None:
        self._claim(Claim(message, PUBLICATION, "root", names))

    @rule(message=st.sampled_from(MESSAGES), by=st.sampled_from(NAMES[1:]), names=TOLD)
    def claim(self, message: MessageId, by: str, names: tuple[str, ...]) -> None:
        if by in self.told.get(message, ()):
            self._claim(Claim(message, f"{message} for {by}", by, names))

    @rule(age=st.integers(0, 6))
    def forget(self, age: int) -> None:
        before = Instant(self.now - age)
        old = {message for message, when in self.begun.items() if when < before}
        assert forgotten(self.history, before) == {key for key, row in self.rows.items() if row.message in old}
        for message in old:
            del self.begun[message], self.told[message]
        self.granted = {key: names for key, names in self.granted.items() if key[0] not in old}
        self.rows = {key: row for key, row in self.rows.items() if row.message not in old}

    @rule()
    def start_anew(self) -> None:
        self.history = CentralHistory(self.rows.values())

    @rule(nanoseconds=st.integers(1, 3))
    def wait(self, nanoseconds: int) -> None:
        self.now = Instant(self.now + nanoseconds)

    @invariant()
    def every_row_is_there_once(self) -> None:
        assert len(self.history) == len(self.rows) == sum(map(len, self.told.values()))

    @invariant()
    def nobody_is_granted_twice(self) -> None:
        for message in MESSAGES:
            granted = [name for key, names in self.granted.items() if key[0] == message for name in names]
            assert len(granted) == len(set(granted)) and "root" not in granted

    def _claim(self, claim: Claim) -> None:
        told = self.told.setdefault(claim.message, set())
        own = self.granted.setdefault((claim.message, claim.copy), [])
        self.begun.setdefault(claim.message, self.now)
        absent = [name for name in claim.names if name not in told | {claim.by}]
        new = {*absent, claim.by} - told
        told |= new
        own += absent
        refused = tuple(name for name in claim.names if name not in own)
        answer, rows = claimed(self.history, claim, self.now)
        assert answer == Granted(claim.message, claim.copy, claim.by, tuple(own), refused)
        assert {row.notifier for row in rows} == new and len(rows) == len(new)
        assert all(row.when == self.now for row in rows)
        self.rows |= {row.key: row for row in rows}


Histories.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
TestHistories = Histories.TestCase


def test_the_same_claim_gets_the_same_answer() -> None:
    history = CentralHistory()
    claim = Claim(MESSAGES[0], PUBLICATION, "root", ("a", "b"))
    first, rows = claimed(history, claim, Instant(1))
    again, nothing = claimed(history, claim, Instant(2))
    assert first == again and first.names == ("a", "b") and not first.refused
    assert len(rows) == 3 and not nothing


def test_of_two_who_claim_the_same_one_is_refused() -> None:
    history = CentralHistory()
    history.step(Claim(MESSAGES[0], PUBLICATION, "root", ("a", "b")), Instant(1))
    first, _ = claimed(history, Claim(MESSAGES[0], "copy-a", "a", ("c", "root", "b")), Instant(2))
    second, _ = claimed(history, Claim(MESSAGES[0], "copy-b", "b", ("c", "d")), Instant(2))
    assert (first.names, first.refused) == (("c",), ("root", "b"))
    assert (second.names, second.refused) == (("d",), ("c",))


def test_retention_counts_from_the_first_claim() -> None:
    history = CentralHistory()
    history.step(Claim(MESSAGES[0], PUBLICATION, "root", ("a",)), Instant(1))
    history.step(Claim(MESSAGES[0], "copy-a", "a", ("b",)), Instant(9))
    assert forgotten(history, Instant(1)) == set()
    assert len(forgotten(history, Instant(5))) == 3
    assert len(history) == 0
