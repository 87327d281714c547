"""The publications of the mediation benchmark: one CAP alert in each dialect, as different senders write it."""

from random import Random

import msgspec
from msgspec import Struct

from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import customise, event_dialect, normalise, open_in_full
from tocsin.mediation.soap.namespaces import SOAP_12, TOPICS, WSA_2005, WSN, WSN_CONSUMER
from tocsin.mediation.ws import wse_2004_08, wsn_1_3
from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.records import Accepted
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

BASE_URL = "http://broker.example.org:8080"
BEGUN = 1_700_000_000_000_000_000
PRODUCERS = tuple(f"http://station-{number}.example.org/cap" for number in range(12))
TOPIC_PATHS = ("geo/earthquake", "geo/tsunami", "met/flood", "met/wind/gale", "fire", "health/beds")
HAZARDS = "http://example.org/hazards"
CAP = "urn:oasis:names:tc:emergency:cap:1.2"


class Alert(Struct, frozen=True):
    number: int
    id: str
    producer: str
    topic: str
    cap: str

    @classmethod
    def random(cls, number: int, random: Random, *, stranger: bool = False) -> "Alert":
        producer = f"http://stranger-{number}.example.org/cap" if stranger else random.choice(PRODUCERS)
        digits = f"{random.getrandbits(128):032x}"
        name = "urn:uuid:" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        return cls(number, name, producer, random.choice(TOPIC_PATHS), _cap(number, random))


def _cap(number: int, random: Random) -> str:
    severity = random.choice(("Extreme", "Severe", "Moderate", "Minor"))
    latitude, longitude = random.uniform(-60, 60), random.uniform(-180, 180)
    return (
        f'<cap:alert xmlns:cap="{CAP}"><cap:identifier>EX-{number:06d}</cap:identifier>'
        f"<cap:sender>desk{random.randrange(9)}@example.org</cap:sender>"
        f"<cap:sent>2026-03-{random.randrange(1, 29):02d}T12:{random.randrange(60):02d}:00-00:00</cap:sent>"
        "<cap:status>Actual</cap:status><cap:msgType>Alert</cap:msgType><cap:scope>Public</cap:scope>"
        f"<cap:info><cap:category>Geo</cap:category><cap:event>magnitude {random.uniform(3, 9):.1f}</cap:event>"
        f"<cap:headline>Magnitude report {random.randrange(10**6):06d} of the national network</cap:headline>"
        f'<cap:severity>{severity}</cap:severity><cap:area><cap:areaDesc>zone "{random.randrange(99)}" &amp; coast'
        f"</cap:areaDesc><cap:circle>{latitude:.3f},{longitude:.3f} {random.randrange(5, 90)}</cap:circle>"
        "</cap:area></cap:info></cap:alert>"
    )


def wsn_notify(alert: Alert, random: Random) -> Accepted:
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<soap:Envelope xmlns:soap="{SOAP_12}" xmlns:wsa="{WSA_2005}" '
        f'xmlns:wsnt="{WSN}"><soap:Header><wsa:Action>{WSN_CONSUMER}/Notify</wsa:Action>'
        f"<wsa:MessageID>{alert.id}</wsa:MessageID><wsa:To>{BASE_URL}/broker</wsa:To></soap:Header>"
        f'<soap:Body><wsnt:Notify><wsnt:NotificationMessage><wsnt:Topic Dialect="{TOPICS}/Concrete" '
        f'xmlns:tns="{HAZARDS}">tns:{alert.topic}</wsnt:Topic><wsnt:ProducerReference><wsa:Address>{alert.producer}'
        f"</wsa:Address></wsnt:ProducerReference><wsnt:Message>{alert.cap}</wsnt:Message></wsnt:NotificationMessage>"
        "</wsnt:Notify></soap:Body></soap:Envelope>"
    )
    return _accepted("/broker", wsn_1_3.NAME, body.encode(), alert, random)


def wse_event(alert: Alert, random: Random) -> Accepted:
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<soap:Envelope xmlns:soap="{SOAP_12}" xmlns:wsa="{WSA_2005}" '
        f'xmlns:wsnt="{WSN}"><soap:Header><wsa:Action>{CAP}/alert</wsa:Action><wsa:MessageID>{alert.id}</wsa:MessageID>'
        f"<wsa:To>{BASE_URL}/broker/publish</wsa:To><wsa:From><wsa:Address>{alert.producer}</wsa:Address></wsa:From>"
        f'<wsnt:Topic Dialect="{TOPICS}/Concrete" xmlns:tns="{HAZARDS}">tns:{alert.topic}</wsnt:Topic></soap:Header>'
        f"<soap:Body>{alert.cap}</soap:Body></soap:Envelope>"
    )
    return _accepted("/broker/publish", wse_2004_08.NAME, body.encode(), alert, random)


def cloud_event(alert: Alert, random: Random) -> Accepted:
    event = msgspec.json.encode(
        {
            "specversion": "1.0",
            "id": alert.id,
            "source": alert.producer,
            "type": f"{CAP}/alert",
            "subject": alert.topic,
            "time": "2026-03-01T12:00:00Z",
            "datacontenttype": "application/xml",
            "data": alert.cap,
        }
    )
    headers = (("content-type", cloudevents.STRUCTURED),)
    return _accepted("/events", cloudevents.NAME, event, alert, random, headers)


def written(alert: Alert, random: Random, form: Form) -> Accepted:
    """By the tables of a SOAP dialect, as a publisher that follows its specification writes it.

    Raw events tell no dialect: the door takes them all for the same.
    """
    door = "/broker" if form.wrapped else "/broker/publish"
    (notification,) = normalise(wse_event(alert, random))
    publisher = Subscription(
        SubscriptionId(""), None, Endpoint(f"{BASE_URL}{door}"), None, form, (), Position(Node("n"), 0), None
    )
    _, body = customise(notification, publisher, BASE_URL)
    return _accepted(door, event_dialect(open_in_full(body)), body, alert, random)


def _accepted(
    door: str, dialect: str, body: bytes, alert: Alert, random: Random, headers: tuple[tuple[str, str], ...] = ()
) -> Accepted:
    when = Instant(BEGUN + alert.number * 1_700_000 + random.randrange(1_000_000))
    return Accepted(Position(Node("n"), alert.number), when, door, dialect, headers, None, alert.id[9:], body)


def subscribers(form: Form) -> list[Subscription]:
    consumers = (Endpoint(f"http://consumer-{number}.example.org/in") for number in range(8))
    since = Position(Node("n"), 0)
    return [
        Subscription(SubscriptionId(f"s{number}"), None, consumer, None, form, (), since, None)
        for number, consumer in enumerate(consumers)
    ]
