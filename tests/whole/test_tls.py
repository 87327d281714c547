"""TLS at the doors, and clients that are known by their certificates."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.whole.acts import IMPATIENT, JSON
from tests.whole.certificates import Authority, Certificate
from tests.whole.people import about, basic, known, text_header, with_header
from tests.whole.shell import BrokerProcess, accepted, command, document, run_to_end
from tests.whole.speech import fault_of, manager_of, message, notify, wsn_manage, wsn_subscribe

from tocsin.wire.http_client import HttpClient
from tocsin.wire.tls import Trust

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[BrokerProcess]:
    data = tmp_path_factory.mktemp("tls") / "data"
    rights = about("publish", "flood"), about("subscribe", "flood")
    known(data, "ann", *rights)
    known(data, "ben", *rights, password=None)
    server = authority.issue("/CN=server")
    process = BrokerProcess.start(data, IMPATIENT | serving(server) | {"tls-client-ca": str(authority.own.file)} | ON)
    yield process
    process.kill()


ON = {"access-on": "true"}


def serving(certificate: Certificate) -> dict[str, str]:
    return {"tls-certificate": str(certificate.file), "tls-key": str(certificate.key)}


@contextlib.asynccontextmanager
async def client(authority: Authority, known: Certificate | None = None) -> AsyncIterator[HttpClient]:
    shown = (None, None) if known is None else (known.file, known.key)
    http = HttpClient(trust=Trust(authority.own.file, *shown))
    yield http
    await http.close()


async def test_it_is_reached_by_https_alone(broker: BrokerProcess, authority: Authority) -> None:
    assert broker.url.startswith("https://127.0.0.1:")
    async with client(authority) as http:
        assert (await http.request("GET", f"{broker.url}/healthz")).status == 200
        assert (await http.request("GET", broker.url.replace("https", "http") + "/healthz")).status == 0
    async with client(Authority(authority.own.file.parent / "other")) as stranger:
        assert (await stranger.request("GET", f"{broker.url}/healthz")).status == 0


async def test_a_text_password_is_taken_over_tls(broker: BrokerProcess, authority: Authority) -> None:
    async with client(authority) as http:
        for number in range(4):
            said = notify(message(f"<n>{number}</n>", "flood"), message_id=f"urn:text:{number}")
            headers, body = with_header(said, text_header("ann"))
            assert (await http.request("POST", f"{broker.url}/broker", headers, body)).status == 202
        headers, body = with_header(said, text_header("ann", "wrong"))
        assert (await http.request("POST", f"{broker.url}/broker", headers, body)).status == 401
        assert (await http.request("GET", f"{broker.url}/api/status", basic("ann"))).status == 200
    assert not any(b"annann" in each.body for each in accepted(broker.data))


async def test_a_certificate_is_its_users_name(broker: BrokerProcess, authority: Authority) -> None:
    async with client(authority, authority.issue("/CN=ben")) as http:
        made = await http.request("POST", f"{broker.url}/broker", *wsn_subscribe("http://127.0.0.1:9/", "flood"))
        assert made.status == 200, made
        manager = manager_of(made.body)
        assert manager.startswith(broker.url)
        answer = await http.request("POST", f"{broker.url}/broker", *wsn_subscribe("http://127.0.0.1:9/", "fire"))
        assert answer.status == 403 and "ben may not" in fault_of(answer.body).reason
    async with client(authority, authority.issue("/CN=ann")) as http:
        assert (await http.request("POST", manager, *wsn_manage("Unsubscribe"))).status == 403
        assert (await http.request("GET", f"{broker.url}/api/status", basic("ann", "wrong"))).status == 401, (
            "it decides"
        )
        assert (await http.request("GET", f"{broker.url}/api/status")).status == 200


@pytest.mark.parametrize("subject", ["/CN=zoe", "/O=ann", "/CN=ann/CN=ben"])
async def test_certificates_that_name_nobody(subject: str, broker: BrokerProcess, authority: Authority) -> None:
    async with client(authority, authority.issue(subject)) as http:
        answer = await http.request("GET", f"{broker.url}/api/status")
        assert answer.status == 401, answer
        assert (await http.request("GET", f"{broker.url}/api/status", basic("ann"))).status == 200


async def test_a_certificate_of_another_authority_is_no_certificate(
    broker: BrokerProcess, authority: Authority, tmp_path: Path
) -> None:
    async with client(authority, Authority(tmp_path).issue("/CN=ann")) as http:
        assert (await http.request("GET", f"{broker.url}/healthz")).status == 0


async def test_without_a_certificate_there_is_no_connection_when_it_is_required(
    tmp_path: Path, authority: Authority
) -> None:
    data = tmp_path / "data"
    known(data, "ann", password=None)
    asked = serving(authority.issue("/CN=server")) | {"tls-client-ca": str(authority.own.file)}
    broker = BrokerProcess.start(data, asked | {"tls-require-client": "true"} | ON)
    try:
        async with client(authority) as http:
            assert (await http.request("GET", f"{broker.url}/healthz")).status == 0
        async with client(authority, authority.issue("/CN=ann")) as http:
            assert (await http.request("GET", f"{broker.url}/api/status")).status == 200
    finally:
        broker.kill()


async def test_many_requests_with_one_certificate(broker: BrokerProcess, authority: Authority) -> None:
    async with client(authority, authority.issue("/CN=ben")) as http:
        answers = await asyncio.gather(*(http.request("GET", f"{broker.url}/api/topics", JSON) for _ in range(20)))
    assert {each.status for each in answers} == {200} and document(answers[0].body)["next"] is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"tls-certificate": "missing.pem"}, "missing.pem"),
        ({"tls-key": "a.key"}, "tls.key = a.key (from --tls-key) needs tls.certificate"),
        ({"tls-require-client": "true", "tls-certificate": "a.pem"}, "needs tls.client_ca"),
        ({"access-on": "true", "access-open": "true"}, "the contrary"),
        ({"access-open": "yes"}, "expected true or false"),
    ],
)
def test_what_cannot_be_served(asked: dict[str, str], words: str, tmp_path: Path) -> None:
    done = run_to_end(command(tmp_path / "data", asked), tmp_path)
    assert done.returncode and words in done.stderr and "Traceback" not in done.stderr
