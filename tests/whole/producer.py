"""A publisher that speaks WS-Notification 1.3: it takes subscriptions, and remembers what it was asked."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from lxml import etree
from tests.whole.sink import HANG_UP, Say, Sink
from tests.whole.speech import SOAP, WSA, WSN

from tocsin import Received

ENVELOPE = '<e:Envelope xmlns:e="{soap}" xmlns:a="{wsa}" xmlns:n="{wsn}"><e:Body>{content}</e:Body></e:Envelope>'
UNKNOWN = "http://docs.oasis-open.org/wsrf/r-2"


@dataclass
class Asked:
    operation: str
    path: str
    envelope: "etree._Element"

    def text(self, name: str) -> str:
        found = next(self.envelope.iter(f"{{*}}{name}"), None)
        return "" if found is None else (found.text or "").strip()


@dataclass
class Producer:
    """`lease` is the seconds it grants, by a clock of its own that is years away from ours."""

    sink: Sink = field(default_factory=Sink)
    asked: list[Asked] = field(default_factory=list)
    leases: dict[str, str] = field(default_factory=dict)  # "active" or "paused", by path
    down: bool = False
    pausable: bool = True
    lease: int = 3600

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Producer"]:
        self.sink.script = self._answer
        async with self.sink.open():
            yield self

    @property
    def url(self) -> str:
        return self.sink.url("producer")

    def operations(self) -> list[str]:
        return [each.operation for each in self.asked]

    def states(self) -> list[str]:
        return list(self.leases.values())

    def _answer(self, received: Received) -> Say:
        if self.down:
            return HANG_UP
        envelope = etree.fromstring(received.body)
        body = next(envelope.iter("{*}Body"))
        self.asked.append(Asked(etree.QName(body[0]).localname, received.path, envelope))
        return self._say(*self._do(self.asked[-1]))

    def _do(self, asked: Asked) -> tuple[int, str]:
        if asked.operation == "Subscribe":
            path = f"/manager/{len(self.asked)}"
            self.leases[path] = "active"
            parameters = "<a:ReferenceParameters><key xmlns='urn:key'>7</key></a:ReferenceParameters>"
            address = f"<a:Address>{self.sink.url(path[1:])}</a:Address>{parameters}"
            reference = f"<n:SubscriptionReference>{address}</n:SubscriptionReference>"
            return 200, f"<n:SubscribeResponse>{reference}{self._times()}</n:SubscribeResponse>"
        if asked.path not in self.leases or asked.text("key") != "7":
            return 500, _fault(f'<r:ResourceUnknownFault xmlns:r="{UNKNOWN}"/>')
        return self._manage(asked)

    def _manage(self, asked: Asked) -> tuple[int, str]:
        match asked.operation:
            case "PauseSubscription" | "ResumeSubscription" if not self.pausable:
                return 500, _fault("<n:PauseFailedFault/>")
            case "PauseSubscription":
                self.leases[asked.path] = "paused"
            case "ResumeSubscription":
                self.leases[asked.path] = "active"
            case "Unsubscribe":
                del self.leases[asked.path]
        return 200, f"<n:{asked.operation}Response>{self._times()}</n:{asked.operation}Response>"

    def _times(self) -> str:
        hours, minutes = divmod(self.lease // 60, 60)
        until = f"2001-01-01T{hours:02d}:{minutes:02d}:{self.lease % 60:02d}Z"
        now = "2001-01-01T00:00:00Z"
        return f"<n:TerminationTime>{until}</n:TerminationTime><n:CurrentTime>{now}</n:CurrentTime>"

    def _say(self, status: int, content: str) -> Say:
        body = ENVELOPE.format(soap=SOAP["1.2"], wsa=WSA["2005/08"], wsn=WSN, content=content)
        return Say(status, "Content-Type: application/soap+xml\r\n", body.encode())


def _fault(detail: str) -> str:
    return f"<e:Fault><e:Code><e:Value>e:Receiver</e:Value></e:Code><e:Detail>{detail}</e:Detail></e:Fault>"
