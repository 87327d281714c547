"""The experiment runs through a real broker; its figures are those of the run, whatever the machine."""

import json
from pathlib import Path

import pytest
from tests.cli.commands import tocsin

from tocsin.lab import experiment
from tocsin.lab.experiments import mediation

PAIR = ("wsn-1.3", "wse-2004-08")


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> experiment.Report:
    monkeypatch.setattr(mediation, "NAMES", PAIR)
    return experiment.run("mediation", out=tmp_path, progress=lambda text: None)


@pytest.mark.broker
def test_every_pair_has_a_row_in_either_figure(report: experiment.Report) -> None:
    pairs = {(source, target) for source in PAIR for target in PAIR}
    for findings in report.tables:
        assert {(row[0], row[1]) for row in findings.rows} == pairs
        assert all(len(row) == len(findings.columns) for row in findings.rows)
    alone, whole = report.tables
    for row in alone.rows:
        total = row[alone.columns.index("total µs")]
        assert isinstance(total, float)
        assert total > 0
    rivals = {(row[0], row[1]): row[alone.columns.index("XSLT µs")] for row in alone.rows}
    assert rivals[PAIR] is not None
    assert rivals[PAIR[0], PAIR[0]] is None
    for row in whole.rows:
        share = row[whole.columns.index("mediation % of queue")]
        assert isinstance(share, float)
        assert 0 < share < 100
    assert [Path(each).read_bytes()[:4] for each in report.figures] == [b"\x89PNG"] * 2


def test_the_stylesheets_say_what_mediation_says() -> None:
    """A rival that does less would be no rival."""
    from lxml import etree

    from tocsin.lab.experiments.mediation import STYLESHEETS
    from tocsin.mediation.dialects import normalise
    from tocsin.model.records import Accepted

    for (source, target), stylesheet in STYLESHEETS.items():
        record = mediation.records(source, 1)[0]
        (sent,) = normalise(record)
        said = bytes(etree.XSLT(etree.fromstring(stylesheet))(etree.fromstring(record.body)))
        (read,) = normalise(Accepted(record.at, record.when, "/broker/publish", target, (), None, "c", said))
        assert (read.id, read.topic, read.producer, read.type) == (sent.id, sent.topic, sent.producer, sent.type)


def test_the_experiments_are_listed() -> None:
    assert "mediation" in {each["name"] for each in json.loads(tocsin("lab", "list", "--json").stdout)}


def test_an_experiment_that_is_none() -> None:
    done = tocsin("lab", "run", "mediaton", check=False)
    assert done.returncode == 2
    assert "did you mean mediation?" in done.stderr
