"""What a broker has, over its JSON API: subscriptions, what became of notifications, topics, publishers, secrets; and
what filters refer to by name. `Resources` at the end says under which attribute the client has each."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.client.api import Collection, Given, Resource, Way, below, bytes_of, with_query
from tocsin.client.calls import call
from tocsin.client.connection import Connection
from tocsin.client.interactions import Interactions
from tocsin.client.notifiers import Notifiers
from tocsin.client.world import World
from tocsin.documents.consumers import CONSENTS, SECRETS, ConsentDocument, SecretDocument, SecretRequest
from tocsin.documents.declarations import (
    CATEGORIES,
    PRODUCERS,
    SPACES,
    TYPES,
    CategoriesDocument,
    CategoriesRequest,
    ProducerDocument,
    ProducerRequest,
    SpaceDocument,
    SpaceRequest,
    TypesDocument,
)
from tocsin.documents.pipeline import PIPELINE, PipelineDocument
from tocsin.documents.pull_points import (
    CURRENT_MESSAGE,
    PULL_POINTS,
    CurrentMessageDocument,
    MessageDocument,
    PullPointDocument,
    PullPointRequest,
)
from tocsin.documents.registrations import REGISTRATIONS, RegisterRequest, RegistrationDocument
from tocsin.documents.ring import RING, RingDocument
from tocsin.documents.semantics import (
    LIFTINGS,
    ONTOLOGIES,
    LiftingSummary,
    MeaningChange,
    OntologyChange,
    OntologyDocument,
    OntologySummary,
)
from tocsin.documents.subscriptions import (
    DEAD_LETTERS,
    SUBSCRIPTIONS,
    DeadLetterDocument,
    Page,
    RedriveRequest,
    RenewRequest,
    SubscribeRequest,
    SubscriptionDocument,
)
from tocsin.documents.topics import TOPIC_NAMESPACES, TOPICS, TopicDocument, TopicNamespaceDocument
from tocsin.documents.traces import TRACE, NewestDocument, TraceDocument
from tocsin.documents.tree import TREE, TreeDocument
from tocsin.model.access import SecretKind

TURTLE = "text/turtle"


class Spaces(Collection[Way, SpaceDocument]):
    """The information spaces that content topics lie in."""

    _path, _kind = SPACES, SpaceDocument

    @call
    async def put(self, name: str, space: SpaceRequest | Given) -> SpaceDocument:
        return await self._ask(SpaceDocument, "PUT", below(self._path, name), bytes_of(space))


class Types(Resource[Way]):
    """Which types of notifications are kinds of others."""

    @call
    async def get(self) -> TypesDocument:
        return await self._ask(TypesDocument, "GET", TYPES)

    @call
    async def put(self, hierarchy: TypesDocument | Given) -> TypesDocument:
        """The whole of it; the one before is replaced."""
        return await self._ask(TypesDocument, "PUT", TYPES, bytes_of(hierarchy))


class Categories(Resource[Way]):
    """The categories of producers."""

    @call
    async def get(self) -> CategoriesDocument:
        return await self._ask(CategoriesDocument, "GET", CATEGORIES)

    @call
    async def put(self, hierarchy: CategoriesRequest | Given) -> CategoriesDocument:
        return await self._ask(CategoriesDocument, "PUT", CATEGORIES, bytes_of(hierarchy))


class Producers(Collection[Way, ProducerDocument]):
    """Who sends notifications, and the services of the world."""

    _path, _kind = PRODUCERS, ProducerDocument

    @call
    async def put(
        self, address: str, categories: Sequence[str] = (), *, properties: str = "", description: str = ""
    ) -> ProducerDocument:
        """`properties` is an XML document, `description` is RDF; what was said of it before is replaced."""
        request = ProducerRequest([*categories], properties, description)
        return await self._ask(ProducerDocument, "PUT", below(self._path, address), request)


class Ontologies(Resource[Way]):
    """The concept model that graph patterns are about. A dry run only says which subscriptions would be suspended."""

    @call
    async def list(self) -> Sequence[OntologySummary]:
        return await self._pages(OntologySummary, ONTOLOGIES)

    @call
    async def get(self, name: str) -> OntologyDocument:
        return await self._ask(OntologyDocument, "GET", below(ONTOLOGIES, name))

    @call
    async def turtle(self, name: str) -> bytes:
        return await self._send("GET", below(ONTOLOGIES, name), headers=(("Accept", TURTLE),))

    @call
    async def put(
        self, name: str, ontology: Given, media_type: str = TURTLE, *, dry_run: bool = False
    ) -> OntologyChange:
        path = with_query(below(ONTOLOGIES, name), dry_run=dry_run)
        return await self._ask(OntologyChange, "PUT", path, bytes_of(ontology), media_type)

    @call
    async def remove(self, name: str, *, dry_run: bool = False) -> MeaningChange:
        return await self._ask(MeaningChange, "DELETE", with_query(below(ONTOLOGIES, name), dry_run=dry_run))


class Liftings(Resource[Way]):
    """How XML and JSON become event graphs."""

    @call
    async def list(self) -> Sequence[LiftingSummary]:
        return await self._pages(LiftingSummary, LIFTINGS)

    @call
    async def get(self, name: str) -> Mapping[str, Any]:
        """As one would declare it."""
        return await self._ask(dict[str, Any], "GET", below(LIFTINGS, name))

    @call
    async def put(self, name: str, lifting: Given, *, dry_run: bool = False) -> MeaningChange:
        path = with_query(below(LIFTINGS, name), dry_run=dry_run)
        return await self._ask(MeaningChange, "PUT", path, bytes_of(lifting))

    @call
    async def remove(self, name: str, *, dry_run: bool = False) -> MeaningChange:
        return await self._ask(MeaningChange, "DELETE", with_query(below(LIFTINGS, name), dry_run=dry_run))


XML = "application/xml"


class Subscriptions(Collection[Way, SubscriptionDocument]):
    """Of all dialects, pull points among them."""

    _path, _kind = SUBSCRIPTIONS, SubscriptionDocument

    @call
    async def create(self, request: SubscribeRequest) -> SubscriptionDocument:
        return await self._ask(SubscriptionDocument, "POST", self._path, request)

    @call
    async def renew(self, name: str, expires: str = "") -> SubscriptionDocument:
        return await self._ask(
            SubscriptionDocument, "POST", below(self._path, name, "renew"), RenewRequest(expires or None)
        )

    @call
    async def pause(self, name: str) -> SubscriptionDocument:
        return await self._ask(SubscriptionDocument, "POST", below(self._path, name, "pause"))

    @call
    async def resume(self, name: str) -> SubscriptionDocument:
        return await self._ask(SubscriptionDocument, "POST", below(self._path, name, "resume"))

    @call
    async def cancel(self, name: str) -> None:
        """Ends it though its subscriber did not ask for that, and tells it so."""
        await self._send("DELETE", with_query(below(self._path, name), cancel=True))

    @call
    async def explain(self, name: str, limit: int = 10) -> NewestDocument:
        """Why the newest notifications were for it, or were not."""
        return await self._ask(NewestDocument, "GET", with_query(below(self._path, name, "explain"), limit=limit))


class PullPoints(Resource[Way]):
    @call
    async def create(self, request: PullPointRequest) -> PullPointDocument:
        return await self._ask(PullPointDocument, "POST", PULL_POINTS, request)

    @call
    async def get(self, name: str) -> PullPointDocument:
        return await self._ask(PullPointDocument, "GET", below(PULL_POINTS, name))

    @call
    async def messages(
        self, name: str, *, limit: int = 100, wait: float = 0.0, after: int | None = None
    ) -> Page[MessageDocument]:
        """Hands out what waits; with `after`, reads what has a higher number and hands out nothing."""
        path = with_query(below(PULL_POINTS, name, "messages"), limit=limit, wait=f"{wait:.3f}", after=after)
        return await self._ask(Page[MessageDocument], "GET", path)

    @call
    async def remove(self, name: str) -> None:
        await self._send("DELETE", below(PULL_POINTS, name))


class Topics(Resource[Way]):
    """What was published about, and what was declared."""

    @call
    async def list(self) -> Sequence[TopicDocument]:
        return await self._pages(TopicDocument, TOPICS)

    @call
    async def current(self, topic: str) -> CurrentMessageDocument:
        """The last message about it."""
        return await self._ask(CurrentMessageDocument, "GET", with_query(CURRENT_MESSAGE, topic=topic))

    @call
    async def namespaces(self) -> Sequence[TopicNamespaceDocument]:
        return await self._pages(TopicNamespaceDocument, TOPIC_NAMESPACES)

    @call
    async def declare(self, document: Given) -> TopicNamespaceDocument:
        """A `wstop:TopicNamespace` document; it replaces what was declared under its namespace before."""
        return await self._ask(TopicNamespaceDocument, "PUT", TOPIC_NAMESPACES, bytes_of(document), XML)

    @call
    async def withdraw(self, namespace: str) -> None:
        await self._send("DELETE", with_query(TOPIC_NAMESPACES, namespace=namespace))


class Registrations(Collection[Way, RegistrationDocument]):
    """Publishers that registered."""

    _path, _kind = REGISTRATIONS, RegistrationDocument

    @call
    async def create(self, request: RegisterRequest) -> RegistrationDocument:
        return await self._ask(RegistrationDocument, "POST", self._path, request)


class Pipeline(Resource[Way]):
    """The data pipeline beside the broker."""

    @call
    async def figures(self) -> PipelineDocument:
        """How far it is, and what its last batch took."""
        return await self._ask(PipelineDocument, "GET", PIPELINE)


class Tree(Resource[Way]):
    """The neighbours of the node in its tree."""

    @call
    async def get(self) -> TreeDocument:
        """Its parent and children, what they ask for, and what goes to them."""
        return await self._ask(TreeDocument, "GET", TREE)

    @call
    async def remove(self, node: str) -> None:
        """A child that does not come back, or a former parent."""
        await self._send("DELETE", below(TREE, node))


class Ring(Resource[Way]):
    """The nodes that are one broker together."""

    @call
    async def get(self) -> RingDocument:
        """Its members, which part of the circle each has, and how much lies on it."""
        return await self._ask(RingDocument, "GET", RING)

    @call
    async def leave(self) -> None:
        """The node that is asked, for good: it hands over what it has, and ends when the others go on for it."""
        await self._send("POST", f"{RING}/leave")

    @call
    async def remove(self, node: str) -> None:
        """One that does not come back, though most of the ring is gone with it: nobody else is asked."""
        await self._send("DELETE", below(RING, node))


class DeadLetters(Resource[Way]):
    """What could not be delivered."""

    @call
    async def list(self, *, subscription: str = "", after: int | str = 0, limit: int = 100) -> Page[DeadLetterDocument]:
        """`next` is what `after` must be for more; None when there are no more."""
        path = with_query(DEAD_LETTERS, subscription=subscription, after=after, limit=limit)
        return await self._ask(Page[DeadLetterDocument], "GET", path)

    @call
    async def redrive(self, ids: Sequence[int | str] | None = None) -> int:
        """Tries these again, or all; how many there were."""
        request = RedriveRequest(None if ids is None else [*ids])
        return int((await self._ask(dict[str, Any], "POST", f"{DEAD_LETTERS}/redrive", request))["redriven"])


class Secrets(Resource[Way]):
    """What consumers are shown of the broker; values are never told."""

    @call
    async def list(self) -> Sequence[SecretDocument]:
        return await self._pages(SecretDocument, SECRETS)

    @call
    async def add(
        self, name: str, kind: SecretKind, value: str, *, header: str = "", address: str = "", replace: bool = False
    ) -> SecretDocument:
        """With `address` it goes there and below only; `header` names the header of that kind."""
        request = SecretRequest(name, kind, value, header, address, replace)
        return await self._ask(SecretDocument, "POST", SECRETS, request)

    @call
    async def remove(self, name: str) -> None:
        await self._send("DELETE", below(SECRETS, name))


class Consents(Resource[Way]):
    @call
    async def list(self) -> Sequence[ConsentDocument]:
        """Consumers that were asked for their consent and have not given it."""
        return await self._pages(ConsentDocument, CONSENTS)


class Traces(Resource[Way]):
    """Who wanted a notification and why, and what became of it."""

    @call
    async def get(
        self,
        message: str = "",
        *,
        offset: int | None = None,
        index: int | None = None,
        subscription: str = "",
        every: bool = False,
        after: str = "",
        limit: int = 100,
    ) -> TraceDocument:
        """By its id or cause, or by its record; of those that wanted it, of `every` one, or of one `subscription`.

        A page looks at so many subscriptions, and may tell of none; `next` is what `after` must be to look at more.
        """
        query: dict[str, Any] = {"offset": offset, "index": index, "subscription": subscription, "all": every}
        path = below(TRACE, message) if message else TRACE
        return await self._ask(TraceDocument, "GET", with_query(path, **query, after=after, limit=limit))


class Resources(Interactions[Way]):
    """What stands in an attribute goes by the JSON API whatever the dialect."""

    def __init__(self, connection: Connection, loop: Way) -> None:
        super().__init__(connection, loop)
        self.subscriptions: Subscriptions[Way] = Subscriptions(connection, loop)
        self.pull_points: PullPoints[Way] = PullPoints(connection, loop)
        self.topics: Topics[Way] = Topics(connection, loop)
        self.registrations: Registrations[Way] = Registrations(connection, loop)
        self.dead_letters: DeadLetters[Way] = DeadLetters(connection, loop)
        self.pipeline: Pipeline[Way] = Pipeline(connection, loop)
        self.tree: Tree[Way] = Tree(connection, loop)
        self.ring: Ring[Way] = Ring(connection, loop)
        self.secrets: Secrets[Way] = Secrets(connection, loop)
        self.consents: Consents[Way] = Consents(connection, loop)
        self.traces: Traces[Way] = Traces(connection, loop)
        self.spaces: Spaces[Way] = Spaces(connection, loop)
        self.types: Types[Way] = Types(connection, loop)
        self.categories: Categories[Way] = Categories(connection, loop)
        self.producers: Producers[Way] = Producers(connection, loop)
        self.ontologies: Ontologies[Way] = Ontologies(connection, loop)
        self.liftings: Liftings[Way] = Liftings(connection, loop)
        self.world: World[Way] = World(connection, loop)
        self.notifiers: Notifiers[Way] = Notifiers(connection, loop)
