"""Every fault that a dialect's table names can be provoked through the door, and changes nothing.

Faults that the specifications have and no table names, because nothing here can be at fault in that way:

| fault | why there is no use for it |
|---|---|
| WSN 1.3 NotifyMessageNotSupportedFault | wrapped and raw messages are both sent |
| WSE 2004/08 and 2011 UnsupportedExpirationType | times and durations are both taken |
| WSE 2004/08 FilteringNotSupported | filters are taken; one that is not is FilteringRequestedUnavailable |
| WSE 2011 EndToNotSupported | EndTo is served |
| WSN 1.0, every one | WS-Messenger threw plain SOAP faults, and so its clients get them |
"""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from lxml import etree
from tests.whole.acts import IMPATIENT, JSON, until
from tests.whole.people import basic, known
from tests.whole.provocations import ADDRESSING, IN_A_CROWD, PREFIXES, PROVOCATIONS, Made, Provocation, Row
from tests.whole.shell import BrokerProcess, document
from tests.whole.speech import SOAP, fault_of, message, notify, wse_manage, wsn_subscribe

from tocsin.mediation.dialects import BY_NAME, DIALECTS
from tocsin.mediation.rules import Faults, Name
from tocsin.mediation.soap.namespaces import WSN_BROKERED
from tocsin.mediation.times import instant
from tocsin.model.access import Right
from tocsin.model.identity import Pairs
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
SPOKEN = [each.name for each in DIALECTS if each.is_soap]
SOME = 8 << 10
OURS = ("cannot-store", "overloaded")
STATUS = {"cannot-store": 503, "overloaded": 503, "not-authenticated": 401, "not-allowed": 403}


def rows(faults: Faults) -> dict[Row, Name]:
    of_one = {(operation, str(reason)): name for (operation, reason), name in faults.of.items()}
    return {("", str(reason)): name for reason, name in faults.named.items()} | of_one


def table(dialect: str) -> Faults:
    found = BY_NAME[dialect].faults
    assert found is not None
    return found


EVERY = [(dialect, row) for dialect in SPOKEN for row in rows(table(dialect)) if (dialect, row) not in IN_A_CROWD]


class Brokers:
    """One for each stage, started when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._started = folder, dict[str, BrokerProcess]()
        self._settings = {
            "fixed": {"topics-fixed": "true"},
            "guarded": {"access-on": "true"},
            "crowded": {"limits-waiting-bytes": "1B"},
        }

    def at(self, stage: str) -> BrokerProcess:
        if stage not in self._started:
            data = self._folder / stage
            if stage == "guarded":
                known(data, "max", Right("manage"), Right("subscribe"))
                known(data, "eve")
            self._started[stage] = BrokerProcess.start(data, IMPATIENT | self._settings.get(stage, {}))
            if stage == "meaning":
                _declare_ontology(self._started[stage])
        return self._started[stage]

    def close(self) -> None:
        for each in self._started.values():
            each.kill()


def _declare_ontology(broker: BrokerProcess) -> None:
    text = b"<urn:o#Thing> a <http://www.w3.org/2002/07/owl#Class> ."
    asked = Request(f"{broker.url}/api/ontologies/o", text, {"Content-Type": "text/turtle"}, method="PUT")
    with urlopen(asked, timeout=60) as answer:
        assert answer.status == 200


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    made = Brokers(tmp_path_factory.mktemp("faults"))
    yield made
    made.close()


def said(dialect: str, soap: str, content: str, block: str = "") -> tuple[Pairs, bytes]:
    kind = "application/soap+xml" if soap == "1.2" else "text/xml; charset=utf-8"
    declared = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in PREFIXES[dialect].items())
    text = (
        f'<e:Envelope xmlns:e="{SOAP[soap]}" xmlns:a="{ADDRESSING[dialect]}"{declared}><e:Header>'
        f"<a:Action>urn:any</a:Action><a:MessageID>urn:asked</a:MessageID>{block}</e:Header>"
        f"<e:Body>{content}</e:Body></e:Envelope>"
    )
    return (("Content-Type", kind),), text.encode()


@contextmanager
def no_room(broker: BrokerProcess) -> Iterator[None]:
    """No file grows beyond what it has already."""
    forever = resource.RLIM_INFINITY
    resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (SOME // 2, forever))
    try:
        yield
    finally:
        resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (forever, forever))


async def make(http: HttpClient, broker: BrokerProcess, what: Made) -> str:
    """Its id; also right after the disk was full."""
    if what == "":
        return ""
    contents = {
        "subscription": wsn_subscribe("http://127.0.0.1:9/", "quiet")[1],
        "pull point": said("wsn-1.3", "1.2", "<n:CreatePullPoint/>")[1],
        "registration": said("wsn-1.3", "1.2", f'<r:RegisterPublisher xmlns:r="{WSN_BROKERED}"/>')[1],
    }
    kind = (("Content-Type", "application/soap+xml"),)
    answer = await until(
        lambda: http.request("POST", f"{broker.url}/broker", kind, contents[what]), lambda found: found.status == 200
    )
    found = [each.text for each in etree.fromstring(answer.body).iter("{*}Address") if "/broker/" in str(each.text)]
    name = str(found[0]).rpartition("/")[2]
    if what == "pull point":
        content = notify(message("<a/>", "t"))
        assert (await http.request("POST", f"{broker.url}/broker/pullpoints/{name}", *content)).status == 202
    return name


async def standing(http: HttpClient, broker: BrokerProcess, who: Pairs) -> Any:
    """What would show that something had changed."""
    found = []
    for path in ("subscriptions?limit=1000", "registrations", "status"):
        answer = await http.request("GET", f"{broker.url}/api/{path}", JSON + who)
        assert answer.status == 200, answer
        found.append(document(answer.body))
    return found[0], found[1], found[2]["offset"], found[2]["dead_letters"]


async def provoke(http: HttpClient, broker: BrokerProcess, dialect: str, soap: str, by: Provocation) -> Answer:
    manager = basic("max") if by.stage == "guarded" else ()
    if by.stage == "full":
        body = notify(message(f"<n>{'x' * SOME}</n>", "t"))
        await until(lambda: http.request("POST", f"{broker.url}/broker", *body), lambda found: found.status == 202)
    name = await make(http, broker, by.of)
    block = f"<tr:Id>{name}</tr:Id>" if name and "{id}" not in by.path else ""
    headers, body_ = said(dialect, soap, by.content, block)
    before = await standing(http, broker, manager)
    asked = f"{broker.url}{by.path.replace('{id}', name)}", headers + (basic(by.who) if by.who else ()), body_
    if by.stage == "full":
        with no_room(broker):
            answer = await http.request("POST", *asked)
    else:
        answer = await http.request("POST", *asked)
    assert await standing(http, broker, manager) == before, "nothing changed"
    return answer


def test_every_fault_has_a_provocation() -> None:
    for dialect in SPOKEN:
        crowded = {row for of, row in IN_A_CROWD if of == dialect}
        assert set(PROVOCATIONS[dialect]) | crowded == set(rows(table(dialect))), dialect


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
@pytest.mark.parametrize(
    ("dialect", "row"), EVERY, ids=[f"{name}-{'-'.join(filter(None, row))}" for name, row in EVERY]
)
async def test_a_fault(dialect: str, row: Row, soap: str, brokers: Brokers, http: HttpClient) -> None:
    by = PROVOCATIONS[dialect][row]
    answer = await provoke(http, brokers.at(by.stage), dialect, soap, by)
    check(answer, dialect, row, soap)
    assert by.word in fault_of(answer.body).reason


def check(answer: Answer, dialect: str, row: Row, soap: str) -> None:
    faults, name, fault = table(dialect), rows(table(dialect))[row], fault_of(answer.body)
    assert fault.soap == soap
    kind = "application/soap+xml" if soap == "1.2" else "text/xml"
    assert dict(answer.headers)["content-type"].startswith(kind)
    check_status(answer, row[1], soap)
    whose = ("Server" if row[1] in OURS else "Client") if soap == "1.1" else "Receiver" if row[1] in OURS else "Sender"
    in_code = soap == "1.1" and faults.base_fault is None
    assert fault.code == (name.clark if in_code else f"{{{SOAP[soap]}}}{whose}")
    assert fault.subcode == (name.clark if soap == "1.2" else "")
    check_headers(answer, dialect, faults)
    check_detail(answer, faults, name, soap)


def check_status(answer: Answer, reason: str, soap: str) -> None:
    assert answer.status == STATUS.get(reason, 500 if soap == "1.1" else 400), answer
    assert ("retry-after" in dict(answer.headers)) == (answer.status == 503)
    assert ("www-authenticate" in dict(answer.headers)) == (answer.status == 401)


def check_headers(answer: Answer, dialect: str, faults: Faults) -> None:
    root, wsa = etree.fromstring(answer.body), ADDRESSING[dialect]
    assert root.findtext(f".//{{{wsa}}}Action") == (faults.action or f"{wsa}/fault")
    assert root.findtext(f".//{{{wsa}}}RelatesTo") == "urn:asked"


def check_detail(answer: Answer, faults: Faults, name: Name, soap: str) -> None:
    """A WS-BaseFault begins with its time; WS-Eventing has what is supported instead."""
    tag = "detail" if soap == "1.1" else f"{{{SOAP['1.2']}}}Detail"
    found = next(etree.fromstring(answer.body).iter(tag), None)
    inside = [] if found is None else list(found)
    if faults.base_fault is not None and name.local.endswith("Fault"):
        (fault,) = inside
        assert fault.tag == name.clark
        assert fault[0].tag == f"{{{faults.base_fault.namespace}}}Timestamp" and instant(str(fault[0].text))
        check_names(fault, faults, name)
    else:
        element, values = faults.supported.get(name.local, (name, ()))
        assert [(each.tag, each.text) for each in inside] == [(element.clark, value) for value in values]


def check_names(fault: "etree._Element", faults: Faults, name: Name) -> None:
    """What the schema wants besides; a name in the text has its prefix declared."""
    last = fault[-1]
    if name.local.startswith("Unacceptable"):
        assert etree.QName(last).localname == "MinimumTime" and instant(str(last.text))
    elif name.local in faults.names_at_fault:
        assert last.tag == faults.names_at_fault[name.local].clark
        assert str(last.text).partition(":")[0] in last.nsmap


CROWD = 40


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
@pytest.mark.parametrize(("dialect", "row"), sorted(IN_A_CROWD))
async def test_too_much_at_once(dialect: str, row: Row, soap: str, brokers: Brokers, http: HttpClient) -> None:
    broker = brokers.at("crowded")
    content = (
        "<w:Subscribe><w:Delivery><w:NotifyTo><a:Address>http://127.0.0.1:9/</a:Address></w:NotifyTo></w:Delivery>"
    )
    asked = said(dialect, soap, f"{content}</w:Subscribe>")

    async def crowd() -> list[Answer]:
        before = len((await standing(http, broker, ()))[0]["items"])
        answers = await asyncio.gather(*(http.request("POST", f"{broker.url}/broker", *asked) for _ in range(CROWD)))
        made = sum(each.status == 200 for each in answers)
        assert len((await standing(http, broker, ()))[0]["items"]) == before + made, "who was refused has none"
        return [each for each in answers if each.status != 200]

    refused = await until(crowd, bool)
    check(refused[0], dialect, row, soap)
    assert "try again a little later" in fault_of(refused[0].body).reason


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
@pytest.mark.parametrize("dialect", SPOKEN)
async def test_what_no_table_names_is_a_plain_fault(
    dialect: str, soap: str, brokers: Brokers, http: HttpClient
) -> None:
    """SOAP 1.2 part 2 s7.5.2: a header that is not understood is no fault of the sender's."""
    block = '<x:strange xmlns:x="urn:x" e:mustUnderstand="1"/>'
    prefix = "w" if dialect.startswith("wse") else "n"
    asked = said(dialect, soap, f"<{prefix}:Subscribe/>", block)
    answer = await http.request("POST", f"{brokers.at('plain').url}/broker", *asked)
    assert answer.status == 500
    fault = fault_of(answer.body)
    assert fault.code == f"{{{SOAP[soap]}}}MustUnderstand" and "{urn:x}strange" in fault.reason


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
async def test_of_wsn_1_0_all_are_plain(soap: str, brokers: Brokers, http: HttpClient) -> None:
    for content, word in [
        ("<n:SubscribeRequest/>", "ConsumerReference"),
        ("<n:UnsubsribeRequest/>", "no subscription"),
        ("<n:Dance/>", "Dance"),
    ]:
        by = Provocation(content, word)
        answer = await provoke(http, brokers.at("plain"), "wsn-1.0", soap, by)
        fault = fault_of(answer.body)
        assert fault.code == f"{{{SOAP[soap]}}}{'Client' if soap == '1.1' else 'Sender'}" and not fault.subcode
        assert word in fault.reason and answer.status == (500 if soap == "1.1" else 400)


async def test_who_is_not_known_is_told_so_in_every_dialect(brokers: Brokers, http: HttpClient) -> None:
    """WS-Security s12, in the code itself where SOAP 1.1 has no other place."""
    broker = brokers.at("guarded")
    for dialect in SPOKEN:
        prefix = "w" if dialect.startswith("wse") else "n"
        for soap in ("1.1", "1.2"):
            asked = said(dialect, soap, f"<{prefix}:Subscribe/>")
            answer = await http.request("POST", f"{broker.url}/broker", *asked)
            fault = fault_of(answer.body)
            assert answer.status == 401 and (fault.subcode or fault.code).endswith("}FailedAuthentication")


async def test_the_brokers_are_well(brokers: Brokers, http: HttpClient) -> None:
    """After all that was said to them."""
    for stage in ("plain", "full"):
        broker = brokers.at(stage)
        assert await make(http, broker, "subscription")
        unknown = await http.request("POST", f"{broker.url}/broker/subscriptions/none", *wse_manage("GetStatus"))
        assert unknown.status == 400 and "Traceback" not in broker.said()
