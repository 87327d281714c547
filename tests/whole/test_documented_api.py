"""What docs/api.md shows is what happens, and docs/operate.md has every setting.

Each section runs on a broker of its own. `$ID` is the `id` of the last answer that had one; ids, times and the name of
the node may differ from what is written, and so may what is written as an ellipsis.
"""

import asyncio
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.whole.acts import IMPATIENT
from tests.whole.conftest import Start
from tests.whole.shell import LOOK, PATIENCE, environment, wait_until
from tests.whole.sink import Sink

from tocsin.broker.settings import KINDS, Settings, value_of
from tocsin.client.signatures import verify
from tocsin.documents.subscriptions import SubscribeRequest
from tocsin.doors.api import openapi

DOCS = Path(__file__).parents[2] / "docs"
API, OPERATE = (DOCS / "api.md").read_text("utf-8"), (DOCS / "operate.md").read_text("utf-8")
SECTIONS = {each.partition("\n")[0]: each for each in re.split(r"^## ", API, flags=re.MULTILINE)[1:]}
BLOCK = re.compile(r"```sh\n(.*?)```\n(?:\n```(json|text)\n(.*?)```)?", re.DOTALL)
VARYING = (
    (re.compile(r"urn:uuid:[0-9a-f-]{36}|\b(?:[0-9a-f]{16}-)?[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z"), "TIME"),
    (re.compile(r"node-[0-9a-f]{8}"), "NODE"),
)
ANY = "..."
SIGNED = "Secrets and signatures"


class Example(NamedTuple):
    commands: str
    kind: str
    shown: str

    @property
    def can_be_repeated(self) -> bool:
        return not re.search(r" -d| -X|messages|stream", self.commands)


class Reader:
    """Follows a section, command by command."""

    def __init__(self, folder: Path, broker: str, sink: Sink) -> None:
        (folder / ".curlrc").write_text("silent\nfail-with-body\nshow-error\n")
        self._folder, self._last = folder, ""
        self._here = {"127.0.0.1:8080": broker.removeprefix("http://"), "127.0.0.1:9000": f"127.0.0.1:{sink.port}"}

    def placed(self, text: str) -> str:
        for written, here in self._here.items():
            text = text.replace(written, here)
        return text

    def follow(self, example: Example) -> None:
        deadline = time.monotonic() + PATIENCE
        expected = _read(example.kind, self.placed(example.shown))
        while not _matches(got := self._answer(example), expected):
            if not example.can_be_repeated or time.monotonic() > deadline:
                assert got == expected, example.commands
            time.sleep(LOOK)

    def _answer(self, example: Example) -> Any:
        ended = subprocess.run(
            ["/bin/sh", "-c", self.placed(example.commands)],
            cwd=self._folder,
            env=environment() | {"CURL_HOME": str(self._folder), "ID": self._last},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ended.returncode == 0 or example.shown, (example.commands, ended.stdout, ended.stderr)
        if example.kind == "json" and isinstance(told := json.loads(ended.stdout), dict):
            self._last = str(told.get("id", self._last))
        return _read(example.kind, ended.stdout)


def _read(kind: str, text: str) -> Any:
    for varying, name in VARYING:
        text = varying.sub(name, text)
    return json.loads(text) if kind == "json" else text.strip()


def _matches(got: Any, expected: Any) -> bool:
    if expected == ANY:
        return True
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(_matches(got[name], expected[name]) for name in got)
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(_matches, got, expected))
    return bool(got == expected)


def examples(section: str) -> list[Example]:
    return [Example(*found) for found in BLOCK.findall(section)]


def rows(page: str) -> Iterator[list[str]]:
    """Of the tables whose first column is a name in code."""
    for line in page.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.fixture
def reader(tmp_path: Path, start: Start, sink: Sink) -> Reader:
    broker = start(tmp_path / "data", IMPATIENT | {"delivery-attempts": "3"})
    return Reader(tmp_path, broker.url, sink)


@pytest.mark.parametrize("title", [title for title, section in SECTIONS.items() if examples(section)])
@pytest.mark.broker
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
async def test_section(title: str, reader: Reader, sink: Sink) -> None:
    for example in examples(SECTIONS[title]):
        await asyncio.to_thread(reader.follow, example)
    if title == SIGNED:
        await _verified_as_written(sink)


async def _verified_as_written(sink: Sink) -> None:
    section = SECTIONS[SIGNED]
    secret = re.findall(r"whsec_[A-Za-z0-9+/=]+", section)[0]
    received = (await wait_until(lambda: sink.at("desk"), "a signed message"))[0]
    headers, names = dict(received.headers), dict[str, Any]()
    exec(re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0], names)
    assert names["message_id"](secret, headers, received.body) == headers["webhook-id"]
    assert verify(secret, headers, received.body, time.time()) == headers["webhook-id"]
    with pytest.raises(ValueError, match="this secret"):
        names["message_id"](secret, headers, received.body + b" ")
    with pytest.raises(ValueError, match="long ago"):
        names["message_id"](secret, headers | {"webhook-timestamp": "1"}, received.body)


def test_every_field_of_a_subscription_is_explained() -> None:
    table = SECTIONS["Subscribe"].partition("| field |")[2].partition("\n\n")[0]
    assert [row[0].strip("`") for row in rows(table)] == list(SubscribeRequest.__struct_encode_fields__)


def test_every_address_is_mentioned() -> None:
    paths = openapi.document("")["paths"]
    assert [path for path in paths if path not in API] == []


def test_the_description_types_what_is_asked() -> None:
    described = openapi.document("")
    messages = described["paths"]["/api/pullpoints/{id}/messages"]["get"]["parameters"]
    assert {each["name"]: each["schema"]["type"] for each in messages} == {
        "wait": "string",
        "limit": "integer",
        "after": "integer",
    }
    assert described["components"]["securitySchemes"].keys() == {"basic", "bearer"}
    assert len(described["paths"]["/events"]["post"]["requestBody"]["content"]) == 3
    together = described["components"]["schemas"]["SubscribeRequest"]["properties"]["together"]
    assert together["description"].startswith("How many may be in one batch")


def test_every_setting_is_explained() -> None:
    table = OPERATE.partition("| setting |")[2]
    defaults = Settings()
    written = {row[0].strip("`"): row[1].strip("`") for row in rows(table)}
    assert written == {name: kind.write(value_of(defaults, name)) for name, kind in KINDS.items()}
    assert all(len(row) == 3 and row[2] for row in rows(table))
    assert len(list(rows(table))) == len(written)
