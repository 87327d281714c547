"""mediate and config need no broker."""

import json
from pathlib import Path

import pytest
from lxml import etree
from tests.cli.commands import tocsin

NOTIFY = """<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:wsa="http://www.w3.org/2005/08/addressing"
 xmlns:wsnt="http://docs.oasis-open.org/wsn/b-2"><s:Header><wsa:MessageID>urn:m:1</wsa:MessageID></s:Header><s:Body>
<wsnt:Notify><wsnt:NotificationMessage><wsnt:Topic xmlns:d="urn:d">d:fire/forest</wsnt:Topic><wsnt:Message>
<a xmlns="urn:p">1</a></wsnt:Message></wsnt:NotificationMessage></wsnt:Notify></s:Body></s:Envelope>"""


@pytest.fixture
def notify(tmp_path: Path) -> str:
    path = tmp_path / "notify.xml"
    path.write_text(NOTIFY)
    return str(path)


def test_mediate_to_cloudevents(notify: str) -> None:
    event = json.loads(tocsin("mediate", notify, "--to", "cloudevents").stdout)
    assert event["id"] == "urn:m:1"
    assert event["subject"] == "{urn:d}fire/forest"
    assert etree.fromstring(event["data"]).tag == "{urn:p}a"


def test_mediate_to_binary_cloudevents_prints_the_headers(notify: str) -> None:
    said = tocsin("mediate", notify, "--to", "cloudevents-binary").stdout
    head, _, body = said.partition("\n\n")
    assert "ce-id: urn:m:1" in head
    assert etree.fromstring(body).tag == "{urn:p}a"


def test_mediate_there_and_back(notify: str) -> None:
    event = tocsin("mediate", notify, "--to", "wse-2004-08").stdout
    back = tocsin("mediate", "-", "--to", "wsn-1.3", text=event).stdout
    envelope = etree.fromstring(back)
    (topic,) = envelope.iter("{http://docs.oasis-open.org/wsn/b-2}Topic")
    prefix, _, _ = (topic.text or "").partition(":")
    assert topic.nsmap[prefix] == "urn:d"
    assert (topic.text or "").endswith(":fire/forest")


@pytest.mark.parametrize(("text", "words"), [("<broken", "not well-formed"), ('{"specversion":"1.0"}', "'id'")])
def test_mediate_says_what_is_wrong(text: str, words: str) -> None:
    done = tocsin("mediate", "-", "--to", "wsn-1.3", text=text, check=False)
    assert done.returncode == 1
    assert words in done.stderr or words == "not well-formed"
    assert "Traceback" not in done.stderr


def test_mediate_to_an_unknown_dialect(notify: str) -> None:
    done = tocsin("mediate", notify, "--to", "smtp", check=False)
    assert done.returncode == 2
    assert "wsn-1.3" in done.stderr


def test_config_tells_where_each_value_came_from(tmp_path: Path) -> None:
    file = tmp_path / "tocsin.toml"
    file.write_text('engine = "embedded"\n[delivery]\nattempts = 7\n')
    said = tocsin("config", "--config", str(file), "--json", "--set", "port=9999", TOCSIN_DELIVERY_ATTEMPTS="3")
    found = json.loads(said.stdout)
    assert found["engine"] == {"value": "embedded", "origin": str(file)}
    assert found["delivery.attempts"] == {"value": "3", "origin": "TOCSIN_DELIVERY_ATTEMPTS"}
    assert found["listen.port"] == {"value": "9999", "origin": "--port"}
    assert found["log.segment_bytes"]["origin"] == "default"


def test_a_wrong_setting_ends_with_two_and_names_it(tmp_path: Path) -> None:
    done = tocsin("config", "--set", "delivery-attempts=many", check=False)
    assert done.returncode == 2
    assert "delivery" in done.stderr
    assert "Traceback" not in done.stderr


def test_bench_list_names_the_benchmarks() -> None:
    names = {each["name"] for each in json.loads(tocsin("bench", "list", "--json").stdout)}
    assert {"mediation", "broker"} <= names


def test_mediate_explains_what_it_does(notify: str) -> None:
    said = tocsin("mediate", notify, "--to", "cloudevents", "--explain", COLUMNS="160").stdout
    assert "transform    Header/wsa:MessageID" in said
    assert "add default  source                urn:tocsin:no-producer" in said


def test_mediate_takes_a_batch_apart() -> None:
    event = {"specversion": "1.0", "source": "urn:s", "type": "t", "datacontenttype": "text/plain", "data": "x"}
    batch = json.dumps([event | {"id": "1"}, event | {"id": "2"}])
    said = tocsin("mediate", "-", "--to", "webhook", text=batch).stdout
    assert [json.loads(line)["id"] for line in said.splitlines()] == ["1", "2"]


def test_mediate_is_told_what_it_reads() -> None:
    message = json.dumps({"id": "7", "topic": "a/b", "payload": {"river": "Inn"}})
    kind = "application/vnd.tocsin.notification+json"
    event = json.loads(tocsin("mediate", "-", "--to", "cloudevents", "--content-type", kind, text=message).stdout)
    assert (event["id"], event["subject"], event["data"]) == ("7", "a/b", {"river": "Inn"})


def test_mediate_of_nothing() -> None:
    done = tocsin("mediate", "-", "--to", "wsn-1.3", text=" \n", check=False)
    assert (done.returncode, "nothing in it" in done.stderr) == (2, True)
