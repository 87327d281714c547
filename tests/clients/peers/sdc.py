"""sdc11073 as an event sink and as an event source, without the medical device around them; its validation is on."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from socket import SHUT_RDWR
from typing import Any
from urllib.parse import urlsplit

from lxml import etree
from sdc11073 import loghelper
from sdc11073.consumer.request_handler_deferred import EmptyResponse
from sdc11073.consumer.subscription import (
    ClientSubscriptionManagerReferenceParams,
    ConsumerSubscription,
    ConsumerSubscriptionManager,
)
from sdc11073.definitions_sdc import SdcV1Definitions
from sdc11073.dispatch import DispatchKey, MessageConverterMiddleware, RequestDispatcher
from sdc11073.httpserver.httpserverimpl import HttpServerThreadBase
from sdc11073.namespaces import EventingActions, default_ns_helper
from sdc11073.provider.subscriptionmgr import PathDispatchingSubscriptionsManager
from sdc11073.pysoap.msgfactory import MessageFactory
from sdc11073.pysoap.msgreader import MessageReader
from sdc11073.pysoap.soapclient import HTTPReturnCodeError, SoapClient
from sdc11073.pysoap.soapclientpool import SoapClientPool
from sdc11073.schema_resolver import mk_schema_validator
from sdc11073.xml_types import eventing_types, msg_qnames
from sdc11073.xml_types.actions import Actions
from sdc11073.xml_types.addressing_types import EndpointReferenceType, HeaderInformationBlock
from sdc11073.xml_types.dpws_types import DeviceEventingFilterDialectURI, HostedServiceType
from tests.clients.peers.peer import FULL, Event

METRIC, ALERT = Actions.EpisodicMetricReport.value, Actions.EpisodicAlertReport.value
_TAGS = {METRIC: msg_qnames.EpisodicMetricReport, ALERT: msg_qnames.EpisodicAlertReport}
_METRIC_TAG = etree.QName(_TAGS[METRIC])
# What the broker makes of the name of the event where its publisher had no action for it.
MADE_METRIC = f"{_METRIC_TAG.namespace}/{_METRIC_TAG.localname}"
# How its consumers tell their subscriptions apart: by the path that is notified, or by a reference parameter.
PATHS, PARAMETERS = ConsumerSubscriptionManager, ClientSubscriptionManagerReferenceParams
Refused = HTTPReturnCodeError
_WSN = "http://docs.oasis-open.org/wsn/b-2"
_HOST, _PATH, _PATIENCE, _TRIES = "127.0.0.1", "sdc", 60.0, 20


def report(name: str, action: str = METRIC) -> "etree._Element":
    """A report that its schemas find valid, told from others by its sequence."""
    tag = etree.QName(_TAGS[action])
    made = etree.Element(tag, nsmap={"msg": tag.namespace})
    made.set("MdibVersion", "3")
    made.set("SequenceId", name)
    return made


def schemas() -> "etree.XMLSchema":
    """WS-Eventing 2004/08, WS-Addressing 2005/08, SOAP 1.2 and BICEPS, as the package carries them."""
    made: etree.XMLSchema = mk_schema_validator(
        [each.value for each in default_ns_helper.prefix_enum], default_ns_helper
    )
    return made


def renewal() -> "etree._Element":
    made = eventing_types.Renew()
    made.Expires = 60
    element: etree._Element = made.as_etree_node(made.NODETYPE, {})
    return element


RENEW = str(eventing_types.Renew.action)


def action_filter(*actions: str) -> Any:
    return other_filter(DeviceEventingFilterDialectURI.ACTION, " ".join(actions))


def other_filter(dialect: str, text: str) -> Any:
    made = eventing_types.FilterType()
    made.Dialect, made.text = dialect, text
    return made


@dataclass(frozen=True)
class Notified:
    """`at` is the last part of the path it came to."""

    at: str
    action: str
    header: "etree._Element"
    body: "etree._Element"
    data: bytes


class End:
    """What both sides need: messages, a server, connections to others, all of which `close` ends."""

    def __init__(self) -> None:
        self.logger = loghelper.get_logger_adapter("sdc.test")
        self.reader = MessageReader(SdcV1Definitions, None, self.logger)
        self.factory = MessageFactory(SdcV1Definitions, None, self.logger)
        self.dispatcher = RequestDispatcher()
        self._clients: dict[str, Any] = {}
        self._server = HttpServerThreadBase(_HOST, None, [], self.logger)
        self._server.start()
        if not self._server.started_evt.wait(_PATIENCE):
            raise TimeoutError("the HTTP server of sdc11073 did not start")
        converter = MessageConverterMiddleware(self.reader, self.factory, self.logger, self.dispatcher)
        self._server.dispatcher.register_instance(_PATH, converter)
        self.url = f"{self._server.base_url}{_PATH}"

    def client_of(self, netloc: str, encodings: Iterable[str] = ()) -> Any:
        return SoapClient(netloc, _PATIENCE, self.logger, None, SdcV1Definitions, self.reader)

    def client(self, address: str) -> Any:
        netloc = urlsplit(address).netloc
        if netloc not in self._clients:
            self._clients[netloc] = self.client_of(netloc)
        return self._clients[netloc]

    def post(self, address: str, action: str, body: "etree._Element") -> str:
        """The id of a message that was accepted without an answer."""
        header = HeaderInformationBlock(action=action, addr_to=address)
        message = self.factory.mk_soap_message_etree_payload(header, body)
        answer = self.client(address).post_message_to(urlsplit(address).path, message)
        assert answer is None, answer
        return str(header.MessageID)

    def close(self) -> None:
        for each in self._clients.values():
            each.close()
        talking = list(self._server.httpd.threads)
        for each in talking:
            with suppress(OSError):
                each.request.shutdown(SHUT_RDWR)
        self._server.stop()  # it overlooks some that end meanwhile
        for thread in (*(each.thread for each in talking), self._server):
            thread.join(_PATIENCE)


@dataclass
class Consumer:
    """Its subscriptions, whose `renew`, `get_status` and `unsubscribe` are the package's own."""

    event_source: str
    manager_class: type = PATHS
    end: End = field(default_factory=End)
    received: list[Notified] = field(default_factory=list)
    ended: list[Notified] = field(default_factory=list)

    def __post_init__(self) -> None:
        end = self.end
        model = SdcV1Definitions.data_model
        self.manager = self.manager_class(end.reader, end.factory, model, end.client, end.url)
        self.expect(METRIC, msg_qnames.EpisodicMetricReport)
        self.expect(ALERT, msg_qnames.EpisodicAlertReport)
        ended = DispatchKey(EventingActions.SubscriptionEnd, eventing_types.SubscriptionEnd.NODETYPE)
        end.dispatcher.register_post_handler(ended, self._ended)

    def expect(self, action: str, tag: Any) -> None:
        """Any other pair of action and element is refused by the package."""
        self.end.dispatcher.register_post_handler(DispatchKey(action, tag), self._notified)

    def subscription(self, filter_type: Any) -> ConsumerSubscription:
        hosted = HostedServiceType()
        reference = EndpointReferenceType()
        reference.Address = self.event_source
        hosted.EndpointReference.append(reference)
        return self.manager.mk_subscription(hosted, filter_type)

    def at(self, subscription: Any) -> list[Notified]:
        return [each for each in self.received if subscription.notification_url.endswith(f"/{each.at}")]

    def _notified(self, request: Any) -> Any:
        found = _notified(request)
        for each in self.manager.subscriptions.values():
            if each.notification_url.endswith(f"/{found.at}"):
                each.on_notification(request)
        self.received.append(found)
        return EmptyResponse()

    def _ended(self, request: Any) -> Any:
        self.manager.on_subscription_end(request)
        self.ended.append(_notified(request))
        return EmptyResponse()

    def close(self) -> None:
        self.end.close()


def _notified(request: Any) -> Notified:
    said, message = request.message_data, request.message_data.p_msg
    return Notified(
        request.current_path_element or "", said.action, message.header_node, message.msg_node, message.raw_data
    )


class Provider:
    """Its subscription manager behind HTTP; whoever subscribes there is sent its reports."""

    def __init__(self) -> None:
        self.end = End()
        self._pool = SoapClientPool(self.end.client_of, "")
        self.manager = PathDispatchingSubscriptionsManager(
            SdcV1Definitions, self.end.factory, self._pool, log_prefix=""
        )
        self.manager.set_base_urls([urlsplit(self.end.url)])
        handlers = {
            eventing_types.Subscribe: self.manager.on_subscribe_request,
            eventing_types.Renew: self.manager.on_renew_request,
            eventing_types.GetStatus: self.manager.on_get_status_request,
            eventing_types.Unsubscribe: self.manager.on_unsubscribe_request,
        }
        for message, handler in handlers.items():
            self.end.dispatcher.register_post_handler(DispatchKey(message.action, message.NODETYPE), handler)

    def send(self, body: "etree._Element", action: str = METRIC) -> None:
        """Returns once every subscriber has answered; one that refuses is dropped."""
        self.manager.send_to_subscribers(body, action, None)

    @property
    def subscribers(self) -> list[Any]:
        return [each for each in self.manager._subscriptions.objects if each.is_valid]

    def close(self) -> None:
        self.manager.stop_all(send_subscription_end=False)
        self._pool.close_all()
        self.end.close()


class Reporting:
    """A provider that the broker is subscribed at; the path of NotifyTo is the topic of what it reports."""

    def __init__(self, broker: str) -> None:
        self._broker, self._provider = broker, Provider()
        self._asking = Consumer(self._provider.end.url)

    async def publish(self, event: Event) -> None:
        subscription = self._asking.subscription(action_filter(METRIC))
        subscription.notification_url = f"{self._broker}/broker/publish/{event.topic}"
        await asyncio.to_thread(_surely_subscribed, subscription)
        await asyncio.to_thread(self._provider.send, etree.fromstring(event.payload))

    def close(self) -> None:
        self._asking.close()
        self._provider.close()


def _surely_subscribed(subscription: Any) -> None:
    """Both sides are the package's: where the machine is busy, its server was seen to refuse its own consumer."""
    for _ in range(_TRIES):
        subscription.subscribe(3600)
        if subscription.is_subscribed:
            return
        time.sleep(1.0)
    raise TimeoutError(f"sdc11073 refused its own consumer {_TRIES} times; see its log")


class Listening:
    def __init__(self, broker: str, topic: str) -> None:
        self.consumer = Consumer(f"{broker}/broker")
        self.consumer.expect(MADE_METRIC, _TAGS[METRIC])
        self._subscription = self.consumer.subscription(other_filter(FULL, topic))

    def subscribe(self) -> None:
        self._subscription.subscribe(3600)
        assert self._subscription.is_subscribed

    async def heard(self) -> list[Event]:
        return [Event.of(each.header.findtext(f"{{{_WSN}}}Topic"), each.body) for each in self.consumer.received]


@asynccontextmanager
async def publishing(broker: str) -> AsyncIterator[Reporting]:
    made = await asyncio.to_thread(Reporting, broker)
    yield made
    await asyncio.to_thread(made.close)


@asynccontextmanager
async def receiving(broker: str, topic: str) -> AsyncIterator[Listening]:
    made = await asyncio.to_thread(Listening, broker, topic)
    await asyncio.to_thread(made.subscribe)
    yield made
    await asyncio.to_thread(made.consumer.close)
