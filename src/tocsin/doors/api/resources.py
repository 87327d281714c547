"""The resources of the API. A new one is a file of handlers, and one line here."""

from collections.abc import Sequence

from tocsin.doors.api.cloudevents_subscriptions import cloudevents_subscriptions
from tocsin.doors.api.consumers import consents, secrets
from tocsin.doors.api.dead_letters import dead_letters
from tocsin.doors.api.declarations import categories, producers, spaces, types
from tocsin.doors.api.interactions import interactions, notifications, patterns, requests
from tocsin.doors.api.node import health, status
from tocsin.doors.api.notifiers import disseminations, door, notifiers
from tocsin.doors.api.pull_points import current_messages, pull_points
from tocsin.doors.api.registrations import registrations
from tocsin.doors.api.router import Resource
from tocsin.doors.api.semantics import liftings, ontologies
from tocsin.doors.api.sockets import sockets
from tocsin.doors.api.streams import streams
from tocsin.doors.api.subscriptions import subscriptions
from tocsin.doors.api.topics import topic_set, topics
from tocsin.doors.api.traces import explanations, traces
from tocsin.doors.api.world import world

RESOURCES: Sequence[Resource] = (
    subscriptions,
    cloudevents_subscriptions,
    *(secrets, consents),
    dead_letters,
    *(pull_points, current_messages),
    *(streams, sockets),
    *(topics, topic_set),
    registrations,
    *(spaces, types, categories, producers),
    *(ontologies, liftings),
    world,
    *(notifiers, disseminations, door),
    *(patterns, requests, interactions, notifications),
    *(traces, explanations),
    *(status, health),
)
