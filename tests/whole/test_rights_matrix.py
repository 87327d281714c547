"""Who may do what: every operation of every door, asked by each principal, as it is written in a golden file.

A cell is the status, with the local name of the fault in SOAP; `+` is added where the answer names what Alice owns.
`RIGHTS=write pytest tests/whole/test_rights_matrix.py` writes the file anew; look at the difference before it is kept.
"""

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.whole.acts import IMPATIENT
from tests.whole.rights_cases import API, OTHERS, SOAP, Case
from tests.whole.rights_stage import PRINCIPALS, Answer, Stage, know_principals, sink
from tests.whole.shell import BrokerProcess
from tests.whole.speech import fault_of

pytestmark = pytest.mark.broker
GOLDEN = Path(__file__).parent / "golden" / "rights_matrix.txt"
METHODS = {"get", "put", "post", "delete", "patch", "options", "head"}
CASES = [*API, *SOAP, *OTHERS]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    data = tmp_path_factory.mktemp("rights") / "data"
    know_principals(data)
    with sink() as consumer:
        broker = BrokerProcess.start(data, IMPATIENT | {"access-on": "true"})
        try:
            made = Stage(broker, consumer)
            made.prepare()
            yield made
        finally:
            broker.kill()


def test_every_described_operation_is_asked_for(stage: Stage) -> None:
    """Whoever adds an operation says here what is asked of it."""
    paths = stage.request("GET", "/api/openapi.json", "nobody").document["paths"]
    described = {f"{method.upper()} {path}" for path, item in paths.items() for method in item if method in METHODS}
    asked = {f"{case.method} {case.path}" for case in API}
    assert sorted(described - asked) == [], "add them to API in tests/whole/rights_cases.py"
    assert sorted(asked - described) == [], "take them out of API in tests/whole/rights_cases.py"


def test_each_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in CASES]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_who_may_do_what(stage: Stage) -> None:
    found = _matrix({case.name: [_cell(stage, case, who) for who in PRINCIPALS] for case in CASES})
    if os.environ.get("RIGHTS") == "write":
        GOLDEN.write_text(found, "utf-8")
    expected = GOLDEN.read_text("utf-8")
    difference = difflib.unified_diff(expected.splitlines(), found.splitlines(), str(GOLDEN.name), "found", "", "", 0)
    assert found == expected, "\n".join(["rights differ:", *difference])


def _cell(stage: Stage, case: Case, who: str) -> str:
    answer, values = stage.ask(case, who)
    text = str(answer.status) + _fault(answer)
    mark = values.get("mark", values["id"])
    return text + "+" * (case.made not in ("", "nothing") and answer.status < 300 and mark.encode() in answer.body)


def _fault(answer: Answer) -> str:
    if b":Fault" not in answer.body:
        return ""
    fault = fault_of(answer.body)
    return " " + (fault.subcode or fault.code).rpartition("}")[2]


def _matrix(cells: dict[str, list[str]]) -> str:
    rows = [["", *PRINCIPALS], *([name, *row] for name, row in cells.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(each.ljust(width) for each, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines) + "\n"
