"""What the disk does to a broker: torn tails, damage, no room; and who else wants the same directory."""

import resource
import shutil
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from tests.whole.acts import IMPATIENT, call, numbers, publish, subscribe, until
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, accepted, command, contents, document, run_to_end, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import SOAP, WSE, Tongue, fault_of, message, notify, wse_subscribe

from tocsin.model.records import Accepted
from tocsin.store.database import Store
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a broker that was killed with a subscription and 20 messages acknowledged."""
    broker = BrokerProcess.start(tmp_path_factory.mktemp("killed") / "data", IMPATIENT)
    asked = b'{"consumer": "http://127.0.0.1:9/", "topic": "nothing"}'
    post(f"{broker.url}/api/subscriptions", "application/json", asked)
    for number in range(20):
        post(f"{broker.url}/broker", "application/soap+xml", notify(message(f"<n>{number}</n>", "t"))[1])
    broker.kill()
    return broker.data


def post(url: str, kind: str, body: bytes) -> None:
    request = urllib.request.Request(url, body, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status in (201, 202)


@pytest.fixture
def left_behind(killed: Path, tmp_path: Path) -> Path:
    shutil.copytree(killed, tmp_path / "data")
    return tmp_path / "data"


def segment(data: Path) -> Path:
    return max((data / "log").glob("*.log"))


def end(path: Path) -> int:
    """Of the last record, which the zeros put ahead follow."""
    return len(path.read_bytes().rstrip(b"\0"))


async def test_a_torn_tail_is_cut_off_and_told(left_behind: Path, start: Start, sink: Sink, http: HttpClient) -> None:
    whole, found = end(segment(left_behind)), segment(left_behind).read_bytes()
    with segment(left_behind).open("r+b") as file:
        file.seek(whole)
        file.write(found[whole - 300 : whole - 20])
    broker = start(left_behind, IMPATIENT)
    assert f"{segment(left_behind)}: removed a torn tail of 280 bytes after record 20" in broker.said()
    assert end(segment(left_behind)) == whole
    assert len(accepted(left_behind)) == 20
    await subscribe(http, broker, sink.url("a"), "t")
    await publish(http, broker, "t", 20)
    await wait_until(lambda: numbers(sink, "a") == [20], "it goes on")


def refusal(data: Path, port: int = 0) -> str:
    """The one sentence with which a broker refuses to start."""
    found = run_to_end(command(data, port=port), data.parent)
    assert found.returncode == 1, found
    (line,) = found.stderr.splitlines()
    assert found.stdout == "" and line.startswith("tocsin: ")
    return line


@pytest.mark.parametrize("where", ["middle", "header", "end"])
async def test_damage_is_refused_and_left_as_it_is(where: str, left_behind: Path) -> None:
    path = segment(left_behind)
    data = bytearray(path.read_bytes())
    at = {"middle": end(path) // 2, "header": 3, "end": end(path) - 10}[where]
    data[at] ^= 0xFF
    path.write_bytes(data)
    before = contents(left_behind / "log")
    line = refusal(left_behind)
    assert str(path) in line and "byte" in line and "record" in line
    assert contents(left_behind / "log") == before


async def test_a_log_that_lost_what_was_acknowledged_is_refused(left_behind: Path) -> None:
    path = segment(left_behind)
    path.write_bytes(path.read_bytes()[: end(path) - 40])
    before = contents(left_behind / "log")
    assert str(path) in refusal(left_behind)
    assert contents(left_behind / "log") == before


async def test_a_second_process_is_refused(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    line = refusal(broker.data)
    assert str(broker.data) in line and "another process" in line
    about = f"second/t{uuid4().hex}"
    await subscribe(http, broker, sink.url("a"), about)
    await publish(http, broker, about, 1)
    await wait_until(lambda: sink.at("a"), "the first goes on")


def test_the_directory_of_the_other_engine_is_refused(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "data" / "tocsin.db")
    store.claim_engine("spark")
    store.close()
    line = refusal(tmp_path / "data")
    assert "belongs to the spark engine" in line and "--engine spark" in line


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    assert f"{tmp_path / 'data'} cannot be the data directory" in refusal(tmp_path / "data")
    assert (tmp_path / "data").read_text() == "mine"


def test_a_taken_port_is_refused(broker: BrokerProcess, tmp_path: Path) -> None:
    assert f"cannot listen on 127.0.0.1:{broker.port}" in refusal(tmp_path / "data", port=broker.port)


class SmallDisk:
    """A file system of 8 MiB of its own, half of it taken by a file that can be removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        script = f'mount -t tmpfs -o size=8m none {folder} && head -c 4M /dev/zero > {folder}/ballast && exec "$@"'
        self.prefix = ("unshare", "-rm", "sh", "-c", script, "sh")
        if subprocess.run([*self.prefix, "true"], capture_output=True).returncode:
            pytest.skip("no file system can be mounted here; the limit on file size covers the same ground")

    def seen_from(self, process: BrokerProcess) -> Path:
        return Path(f"/proc/{process.process.pid}/root{self._folder}/data")

    def limit(self, process: BrokerProcess) -> None:
        """It is small from the start."""

    def make_room(self, process: BrokerProcess) -> None:
        (self.seen_from(process).parent / "ballast").unlink()


class SmallFiles:
    """No file may be longer than 2 MiB."""

    prefix = ()

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()

    def seen_from(self, process: BrokerProcess) -> Path:
        return self._folder / "data"

    def limit(self, process: BrokerProcess) -> None:
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, (2 << 20, resource.RLIM_INFINITY))

    def make_room(self, process: BrokerProcess) -> None:
        forever = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(process.process.pid, resource.RLIMIT_FSIZE, forever)


Disk = SmallDisk | SmallFiles


@pytest.mark.parametrize("kind", [SmallDisk, SmallFiles])
async def test_a_full_disk(kind: Callable[[Path], Disk], tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    disk = kind(tmp_path / "disk")
    broker = BrokerProcess.start(tmp_path / "disk" / "data", IMPATIENT, prefix=disk.prefix)
    try:
        disk.limit(broker)
        await fill_and_make_room(disk, broker, sink, http)
    finally:
        broker.kill()


async def fill_and_make_room(disk: Disk, broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    await subscribe(http, broker, sink.url("a"), "t")
    taken = list[str]()

    async def send(name: str, size: int = 100_000) -> Answer:
        said = notify(message(f"<n>{name} {'x' * size}</n>", "t"), message_id=f"urn:{name}")
        answer = await http.request("POST", f"{broker.url}/broker", *said)
        if answer.status == 202:
            taken.append(f"urn:{name}")
        return answer

    number = 0
    while (answer := await send(f"{number}")).status == 202:
        number += 1
    check_no_room(answer)
    assert number > 10
    await check_every_door_says_so(broker, http)
    disk.make_room(broker)
    await until(lambda: send(f"{number}"), lambda found: found.status == 202)
    assert (await send("last")).status == 202
    await subscribe(http, broker, sink.url("b"), "t")
    assert (await send("for-both")).status == 202
    await wait_until(lambda: sink.at("b") and len(sink.at("a")) >= len(taken), "all that was taken arrives")
    assert [each.id for each in sink.notifications("a")] == taken, "and nothing that was refused"
    shutil.copytree(disk.seen_from(broker) / "log", broker.errors.parent / "copy" / "log")
    assert [identity(record) for record in accepted(broker.errors.parent / "copy")] == taken
    assert "Traceback" not in broker.said()


def identity(record: Accepted) -> str:
    return record.body.partition(b"MessageID>")[2].partition(b"<")[0].decode()


def check_no_room(answer: Answer) -> None:
    assert answer.status == 503, answer
    assert dict(answer.headers)["retry-after"].isdecimal()
    assert fault_of(answer.body).code == f"{{{SOAP['1.2']}}}Receiver"
    assert "try again" in fault_of(answer.body).reason


async def check_every_door_says_so(broker: BrokerProcess, http: HttpClient) -> None:
    """With more than fits, however little room is left."""
    big = "x" * 900_000
    event = f'{{"specversion":"1.0","id":"e","source":"/","type":"t","data":"{big}"}}'.encode()
    answer = await http.request(
        "POST", f"{broker.url}/events", (("Content-Type", "application/cloudevents+json"),), event
    )
    assert (
        answer.status == 503 and dict(answer.headers)["retry-after"] and "try again" in document(answer.body)["detail"]
    )
    answer = await http.request("POST", f"{broker.url}/broker/publish", (("Content-Type", "text/plain"),), big.encode())
    assert answer.status == 503
    parameters = f"<a:ReferenceParameters><big>{big}</big></a:ReferenceParameters>"
    said = wse_subscribe("http://127.0.0.1:9/", "t", tongue=Tongue("1.1", "2004/08"))
    body = said[1].replace(b"</a:Address>", b"</a:Address>" + parameters.encode())
    answer = await http.request("POST", f"{broker.url}/broker", said[0], body)
    assert answer.status == 503 and fault_of(answer.body).code == f"{{{WSE}}}EventSourceUnableToProcess"
    status = await call(http, "GET", f"{broker.url}/api/status")
    assert status.status == 200
