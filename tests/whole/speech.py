"""What clients say, written out by hand: nothing here comes from the code under test but the names of namespaces."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

from lxml import etree

from tocsin.model.identity import Pairs

SOAP = {"1.1": "http://schemas.xmlsoap.org/soap/envelope/", "1.2": "http://www.w3.org/2003/05/soap-envelope"}
WSA = {
    "2005/08": "http://www.w3.org/2005/08/addressing",
    "2004/08": "http://schemas.xmlsoap.org/ws/2004/08/addressing",
}
WSN = "http://docs.oasis-open.org/wsn/b-2"
WSE = "http://schemas.xmlsoap.org/ws/2004/08/eventing"
FULL = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Full"
CONCRETE = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete"
Said = tuple[Pairs, bytes]


@dataclass(frozen=True)
class Tongue:
    """A SOAP version with a WS-Addressing version."""

    soap: str = "1.2"
    wsa: str = "2005/08"

    def content_type(self) -> Pairs:
        return (("Content-Type", "application/soap+xml" if self.soap == "1.2" else "text/xml; charset=utf-8"),)

    def say(self, action: str, content: str, *, message_id: str = "", more: str = "") -> Said:
        headers = f"<a:Action>{action}</a:Action>{more}"
        if message_id:
            headers += f"<a:MessageID>{message_id}</a:MessageID>"
        text = (
            f'<?xml version="1.0" encoding="utf-8"?><e:Envelope xmlns:e="{SOAP[self.soap]}" xmlns:a="{WSA[self.wsa]}">'
            f"<e:Header>{headers}</e:Header><e:Body>{content}</e:Body></e:Envelope>"
        )
        return self.content_type(), text.encode()


DEFAULT = Tongue()
TONGUES = [Tongue(soap, wsa) for soap in SOAP for wsa in WSA]


def message(payload: str, topic: str, producer: str = "") -> str:
    reference = ""
    if producer:
        reference = f"<n:ProducerReference><a:Address>{producer}</a:Address></n:ProducerReference>"
    return (
        f'<n:NotificationMessage><n:Topic Dialect="{CONCRETE}">{topic}</n:Topic>{reference}'
        f"<n:Message>{payload}</n:Message></n:NotificationMessage>"
    )


def notify(*messages: str, message_id: str = "", tongue: Tongue = DEFAULT) -> Said:
    content = f'<n:Notify xmlns:n="{WSN}">{"".join(messages)}</n:Notify>'
    action = "http://docs.oasis-open.org/wsn/bw-2/NotificationConsumer/Notify"
    return tongue.say(action, content, message_id=message_id)


def wse_event(payload: str, topic: str, message_id: str = "", producer: str = "", tongue: Tongue = DEFAULT) -> Said:
    more = f'<n:Topic xmlns:n="{WSN}" Dialect="{CONCRETE}">{topic}</n:Topic>'
    if producer:
        more += f"<a:From><a:Address>{producer}</a:Address></a:From>"
    return tongue.say("urn:test:event", payload, message_id=message_id, more=more)


def wsn_subscribe(
    consumer: str,
    topic: str = "",
    *,
    dialect: str = FULL,
    expires: str = "",
    inside: str = "",
    tongue: Tongue = DEFAULT,
) -> Said:
    wanted = f'<n:TopicExpression Dialect="{dialect}">{escape(topic)}</n:TopicExpression>' if topic else ""
    ending = f"<n:InitialTerminationTime>{expires}</n:InitialTerminationTime>" if expires else ""
    content = (
        f'<n:Subscribe xmlns:n="{WSN}"><n:ConsumerReference><a:Address>{escape(consumer)}</a:Address>'
        f"</n:ConsumerReference><n:Filter>{wanted}{inside}</n:Filter>{ending}</n:Subscribe>"
    )
    return tongue.say(
        "http://docs.oasis-open.org/wsn/bw-2/NotificationProducer/SubscribeRequest", content, message_id="urn:m"
    )


def wse_subscribe(
    consumer: str,
    topic: str = "",
    *,
    dialect: str = FULL,
    expires: str = "",
    mode: str = f"{WSE}/DeliveryModes/Push",
    tongue: Tongue = DEFAULT,
) -> Said:
    wanted = f'<w:Filter Dialect="{dialect}">{escape(topic)}</w:Filter>' if topic else ""
    ending = f"<w:Expires>{expires}</w:Expires>" if expires else ""
    content = (
        f'<w:Subscribe xmlns:w="{WSE}"><w:Delivery Mode="{mode}"><w:NotifyTo><a:Address>{escape(consumer)}</a:Address>'
        f"</w:NotifyTo></w:Delivery>{ending}{wanted}</w:Subscribe>"
    )
    return tongue.say(f"{WSE}/Subscribe", content, message_id="urn:m")


def wsn_manage(name: str, inside: str = "", tongue: Tongue = DEFAULT) -> Said:
    action = f"http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager/{name}Request"
    return tongue.say(action, f'<n:{name} xmlns:n="{WSN}">{inside}</n:{name}>', message_id="urn:m")


def wse_manage(name: str, inside: str = "", tongue: Tongue = DEFAULT) -> Said:
    return tongue.say(f"{WSE}/{name}", f'<w:{name} xmlns:w="{WSE}">{inside}</w:{name}>', message_id="urn:m")


def parsed(body: bytes) -> "etree._Element":
    return etree.fromstring(body)


def text_at(body: bytes, *names: str) -> str:
    """The text of the first element of any of these local names."""
    found = next(parsed(body).iter(*(f"{{*}}{name}" for name in names)), None)
    return "" if found is None else "".join(map(str, found.itertext())).strip()


def manager_of(body: bytes) -> str:
    """Where the answer to a Subscribe says that the subscription is managed."""
    holder = next(parsed(body).iter(f"{{{WSN}}}SubscriptionReference", f"{{{WSE}}}SubscriptionManager"))
    return str(next(holder.iter(*(f"{{{each}}}Address" for each in WSA.values()))).text)


@dataclass(frozen=True)
class Fault:
    soap: str
    code: str
    subcode: str
    reason: str


def fault_of(body: bytes) -> Fault:
    """What a SOAP client makes of it: the local names of codes, resolved with the prefixes in scope."""
    root = parsed(body)
    soap = next(version for version, uri in SOAP.items() if root.tag == f"{{{uri}}}Envelope")
    fault = next(root.iter(f"{{{SOAP[soap]}}}Fault"))
    if soap == "1.1":
        code = fault.find("faultcode")
        assert code is not None
        return Fault(soap, _resolved(code), "", fault.findtext("faultstring") or "")
    values = list(fault.iter(f"{{{SOAP[soap]}}}Value"))
    reason = next(fault.iter(f"{{{SOAP[soap]}}}Text"))
    return Fault(soap, _resolved(values[0]), _resolved(values[1]) if values[1:] else "", reason.text or "")


def _resolved(element: "etree._Element") -> str:
    prefix, _, local = (element.text or "").rpartition(":")
    return f"{{{element.nsmap[prefix or None]}}}{local}"
