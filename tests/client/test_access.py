"""Who a client is: HTTP Basic and Bearer, the digest of WS-Security, certificates."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.whole.acts import IMPATIENT
from tests.whole.certificates import Authority
from tests.whole.conftest import Start
from tests.whole.people import known, users
from tests.whole.shell import BrokerProcess

from tocsin import Client, ClientError, Unreachable
from tocsin.client.connection import Credentials, authorization_headers
from tocsin.mediation.dialects import BY_NAME, NAMES
from tocsin.model.access import Right

SOAP = [each for each in NAMES if BY_NAME[each].is_soap]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data = tmp_path_factory.mktemp("guarded") / "data"
    known(data, "ann", Right("publish"), Right("subscribe"))
    (data.parent / "token").write_text(users(data, "token", "ann").split()[-1])
    process = BrokerProcess.start(data, IMPATIENT | {"access-on": "true"})
    yield process
    process.kill()


async def works(client: Client) -> None:
    async with client:
        await client.publish(b"<a/>", topic="a")
        lease = await client.subscribe("http://127.0.0.1:9/x", topic="a")
        await client.unsubscribe(lease)


def test_what_a_client_shows() -> None:
    assert authorization_headers() == ()
    assert authorization_headers("Aladdin", "open sesame") == (("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),)
    assert authorization_headers("test", "123£") == (("Authorization", "Basic dGVzdDoxMjPCow=="),)  # RFC 7617 s2.1
    assert authorization_headers("ann", "p", token="t") == (("Authorization", "Bearer t"),)


def test_credentials_do_not_show_what_is_secret() -> None:
    assert "hidden" not in repr(Credentials("ann", "hidden", "hidden"))


@pytest.mark.broker
@pytest.mark.parametrize("dialect", NAMES)
async def test_basic(guarded: BrokerProcess, dialect: str) -> None:
    await works(Client(guarded.url, dialect, user="ann", password="annann"))


@pytest.mark.broker
@pytest.mark.parametrize("dialect", SOAP)
async def test_digest(guarded: BrokerProcess, dialect: str) -> None:
    await works(Client(guarded.url, dialect, user="ann", password="annann", digest=True))


@pytest.mark.broker
@pytest.mark.parametrize("dialect", NAMES)
async def test_who_is_not_known_is_refused(guarded: BrokerProcess, dialect: str) -> None:
    for client in (Client(guarded.url, dialect), Client(guarded.url, dialect, user="ann", password="wrong")):
        with pytest.raises(ClientError) as told:
            await works(client)
        assert told.value.status == 401


@pytest.mark.broker
async def test_a_token(guarded: BrokerProcess) -> None:
    token = (guarded.data.parent / "token").read_text()
    for dialect in ("wsn-1.3", "cloudevents"):
        await works(Client(guarded.url, dialect, token=token))


@pytest.mark.broker
async def test_tls_with_a_certificate_of_its_own(tmp_path: Path, start: Start) -> None:
    authority = Authority(tmp_path / "ca")
    own, ours = authority.issue("/CN=broker"), authority.issue("/CN=ann")
    settings = {
        "tls-certificate": str(own.file),
        "tls-key": str(own.key),
        "tls-client-ca": str(authority.own.file),
        "tls-require-client": "true",
    }
    broker = start(tmp_path / "data", IMPATIENT | settings)
    believed, certificate, key = authority.own.file, ours.file, ours.key
    for dialect in ("wsn-1.3", "cloudevents"):
        await works(Client(broker.url, dialect, ca_file=believed, client_cert=certificate, client_key=key))
    with pytest.raises(Unreachable):
        await works(Client(broker.url, ca_file=believed))
    with pytest.raises(Unreachable, match="certificate"):
        await works(Client(broker.url, client_cert=certificate, client_key=key))
