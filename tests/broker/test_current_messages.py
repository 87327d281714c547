"""The current message of a topic, across restarts, and what cannot have one."""

from pathlib import Path

import pytest
from tests.broker.test_pull_points import running, say

from tocsin.broker import lifecycle
from tocsin.broker.caller import NODE
from tocsin.broker.publishing import current_messages as current
from tocsin.broker.publishing.current_messages import CurrentMessages
from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.names import QName
from tocsin.model.refusal import Refusal

A, B = QName("", "a"), QName("", "b")


@pytest.fixture(autouse=True)
def soon_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "DRAIN_SECONDS", 0.2)


async def last(messages: CurrentMessages, *steps: QName) -> int:
    return int((await messages.get(NODE, TopicIs((steps,)))).payload.data)


async def refusal(messages: CurrentMessages, asked: TopicIs) -> str:
    with pytest.raises(Refusal) as refused:
        await messages.get(NODE, asked)
    return refused.value.reason


async def test_the_last_message_is_the_current_one(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await say(node, "a", 1, 2)
        await say(node, "a/b", 3)
        assert (await last(node.current_messages, A), await last(node.current_messages, A, B)) == (2, 3)
        assert await refusal(node.current_messages, TopicIs(((B,),))) == "no-current-message"
        for several in ([(A,), (B,)], [(A, ANY)], [(A, DESCEND)], [(QName("", "*"),)], [()]):
            assert await refusal(node.current_messages, TopicIs(tuple(several))) == "several-topics"


async def test_it_survives_restarts_saved_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path) as node:
        await say(node, "a", 1)
        await say(node, "b", 2)
    monkeypatch.setattr(current.CurrentMessages, "save", _not)
    async with running(tmp_path) as node:
        await say(node, "a", 3)
    async with running(tmp_path) as node:
        assert (await last(node.current_messages, A), await last(node.current_messages, B)) == (3, 2)


async def test_a_new_table_is_filled_from_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current.CurrentMessages, "save", _not)
    async with running(tmp_path) as node:
        await say(node, "a", 3)
    async with running(tmp_path) as node:
        assert await last(node.current_messages, A) == 3


async def _not(self: CurrentMessages) -> None:
    pass


async def test_topics_silent_for_longest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "MOST_TOPICS", 2)
    async with running(tmp_path) as node:
        for number, topic in enumerate(("a", "b", "a", "c", "b")):
            await say(node, topic, number)
        await node.current_messages.save()
        assert await refusal(node.current_messages, TopicIs(((A,),))) == "no-current-message"
        assert (await last(node.current_messages, QName("", "c")), await last(node.current_messages, B)) == (3, 4)
        await say(node, "a", 5)
    async with running(tmp_path) as node:
        assert (await last(node.current_messages, B), await last(node.current_messages, A)) == (4, 5)
        assert await refusal(node.current_messages, TopicIs(((QName("", "c"),),))) == "no-current-message"


async def test_their_bytes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "MOST_BYTES", 1030)
    async with running(tmp_path) as node:
        await say(node, "a", 1)
        await say(node, "b", 10**20)
        assert await refusal(node.current_messages, TopicIs(((A,),))) == "no-current-message"
        assert await last(node.current_messages, B) == 10**20
