"""From what is asked to what the node does about it, and what is answered: the same for every dialect."""

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.doors.api.parameters import LONGEST_WAIT
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
from tocsin.model.paths import BROKER
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

REGISTRATIONS = f"{BROKER}/registrations/"


async def operate(node: Node, caller: Caller, request: Request, now: Instant) -> Answer:
    """Answered with the time at which it was heard: who asks for an hour is told of an hour."""
    match request:
        case Subscribe():
            return _subscribed(node, await node.subscriptions.subscribe(caller, request), now)
        case Renew():
            return Renewed(await node.subscriptions.renew(caller, request), now)
        case GetStatus(name):
            return Status(node.subscriptions.get(caller, name), now)
        case Unsubscribe(name):
            await node.subscriptions.unsubscribe(caller, name)
        case Pause(name):
            await node.subscriptions.pause(caller, name)
        case Resume(name):
            await node.subscriptions.resume(caller, name)
        case CreatePullPoint():
            return _subscribed(node, await node.pull_points.create(caller, request), now)
        case Pull(name, most, seconds):
            return await node.pull_points.pull(caller, name, most, min(seconds, LONGEST_WAIT))
        case GetCurrentMessage(topic):
            return CurrentMessage(await node.current_messages.get(caller, topic))
        case RegisterPublisher():
            made = await node.registrations.register(caller, request)
            return Registered(made, f"{node.base_url}{REGISTRATIONS}{made.id}", node.base_url + BROKER)
        case DestroyRegistration(name):
            await node.registrations.destroy(caller, name)
        case GetProperties(name, names):
            return Properties(await node.properties.get(caller, name, names))
        case Describe(what, asked):
            topics = await node.topics.topic_set(caller)
            return Described(what, asked, node.base_url, topics, node.topics.fixed, now)
        case Synchronise(name):
            await node.synchronisation.synchronise(caller, name)
        case _:
            raise Refusal("unknown-operation", f"{type(request).__name__} is not served here")
    return Done()


def _subscribed(node: Node, made: Subscription, now: Instant) -> Subscribed:
    path = PULL_POINTS if made.consumer is None else SUBSCRIPTIONS
    return Subscribed(made, f"{node.base_url}{path}{made.id}", now)
