"""From what is asked to what the node does about it, and what is answered: the same for every dialect."""

from tocsin.documents.ports.port import Broker
from tocsin.doors.api.queries import LONGEST_WAIT
from tocsin.mediation.operations import (
    Answer,
    CreatePullPoint,
    CurrentMessage,
    Describe,
    Described,
    DestroyRegistration,
    Done,
    GetCurrentMessage,
    GetProperties,
    GetStatus,
    Pause,
    Properties,
    Pull,
    Registered,
    RegisterPublisher,
    Renew,
    Renewed,
    Request,
    Resume,
    Status,
    Subscribe,
    Subscribed,
    Synchronise,
    Unsubscribe,
)
from tocsin.mediation.soap.templates import PULL_POINTS, SUBSCRIPTIONS
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

REGISTRATIONS = "/broker/registrations/"


async def operate(broker: Broker, request: Request, now: Instant) -> Answer:
    """Answered with the time at which it was heard: who asks for an hour is told of an hour."""
    match request:
        case Subscribe():
            return _subscribed(broker, await broker.subscribe(request), now)
        case Renew():
            return Renewed(await broker.renew(request), now)
        case GetStatus(name):
            return Status(broker.subscription(name), now)
        case Unsubscribe(name):
            await broker.unsubscribe(name)
        case Pause(name):
            await broker.pause(name)
        case Resume(name):
            await broker.resume(name)
        case CreatePullPoint():
            return _subscribed(broker, await broker.create_pull_point(request), now)
        case Pull(name, most, seconds):
            return await broker.pull(name, most, min(seconds, LONGEST_WAIT))
        case GetCurrentMessage(topic):
            return CurrentMessage(broker.current_message(topic))
        case RegisterPublisher():
            made = await broker.register(request)
            return Registered(made, f"{broker.base_url}{REGISTRATIONS}{made.id}", f"{broker.base_url}/broker")
        case DestroyRegistration(name):
            await broker.destroy_registration(name)
        case GetProperties(name, names):
            return Properties(broker.properties(name, names))
        case Describe(what, asked):
            return Described(what, asked, broker.base_url, broker.topic_set(), broker.fixed_topics, now)
        case Synchronise(name):
            await broker.synchronise(name)
        case _:
            raise Refusal("unknown-operation", f"{type(request).__name__} is not served here")
    return Done()


def _subscribed(broker: Broker, made: Subscription, now: Instant) -> Subscribed:
    path = PULL_POINTS if made.consumer is None else SUBSCRIPTIONS
    return Subscribed(made, f"{broker.base_url}{path}{made.id}", now)
