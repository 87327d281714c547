"""The world in the plainest way: what may be done to it, and GetNeighbors line by line (paper 000, Table 1)."""

from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import Edge, Key, Service, Vote

Parents = dict[str, str | None]


class PlainWorld:
    def __init__(self) -> None:
        self.rules = c.PutRules()
        self.topics: Parents = {}
        self.categories: Parents = {}
        self.owners: dict[str, str] = {}
        self.services: dict[str, Service] = {}
        self.edges: dict[Key, Edge] = {}

    def apply(self, change: c.Change) -> bool:
        """False when it is refused."""
        allowed = self.allows(change)
        if allowed:
            self.do(change)
        return allowed

    def allows(self, change: c.Change) -> bool:
        match change:
            case c.PutTopic(name, parent):
                return fits(self.topics, name, parent)
            case c.PutCategory(name, parent, _):
                return fits(self.categories, name, parent)
            case c.RemoveTopic(name):
                in_edges = any(topic == name for _, topic, _ in self.edges)
                in_rules = any(name in service.tells for service in self.services.values())
                return name in self.topics and name not in self.topics.values() and not in_edges and not in_rules
            case c.RemoveCategory(name):
                in_edges = any(name in (source, target) for source, _, target in self.edges)
                in_services = any(name in service.categories for service in self.services.values())
                childless = name not in self.categories.values()
                return name in self.categories and childless and not in_edges and not in_services
            case c.PutService(service):
                known = set(service.categories) <= self.categories.keys() and service.tells.keys() <= self.topics.keys()
                told = set(service.tells.values())
                return bool(service.categories) and known and told <= self.services.keys() - {service.name}
            case c.RemoveService(name):
                told = {each for service in self.services.values() for each in service.tells.values()}
                return name in self.services and name not in told
            case c.PutEdge(edge):
                voters = [vote.by for vote in edge.votes]
                known = {edge.source, edge.target} <= self.categories.keys() and edge.topic in self.topics
                return known and len(set(voters)) == len(voters) and "" not in voters
            case c.RemoveEdge(source, topic, target):
                return (source, topic, target) in self.edges
            case c.CastVote(source, topic, target, vote):
                return (source, topic, target) in self.edges and vote.by != ""
            case c.PutRules():
                return change.quorum >= 1

    def do(self, change: c.Change) -> None:
        match change:
            case c.PutTopic(name, parent):
                self.topics[name] = parent
            case c.PutCategory(name, parent, owner):
                self.categories[name] = parent
                self.owners.pop(name, None)
                if owner:
                    self.owners[name] = owner
            case c.RemoveTopic(name):
                del self.topics[name]
            case c.RemoveCategory(name):
                del self.categories[name]
                self.owners.pop(name, None)
            case c.PutService(service):
                self.services[service.name] = service
            case c.RemoveService(name):
                del self.services[name]
            case c.PutEdge(edge):
                self.edges[edge.key] = edge
            case c.RemoveEdge(source, topic, target):
                del self.edges[source, topic, target]
            case c.CastVote(source, topic, target, vote):
                old = self.edges[source, topic, target]
                votes: list[Vote] = [each for each in old.votes if each.by != vote.by]
                self.edges[old.key] = Edge(*old.key, old.proposed_by, votes=(*votes, vote), support=old.support)
            case c.PutRules():
                self.rules = change

    def counts(self, edge: Edge) -> bool:
        owner = self.owners.get(edge.source)
        agree = {vote.by for vote in edge.votes if vote.agrees}
        differ = {vote.by for vote in edge.votes if not vote.agrees}
        if owner in agree | differ:
            return owner in agree
        if edge.support is None and edge.proposed_by in ("", owner):
            return len(differ) - len(agree) < self.rules.quorum
        if edge.support is None:
            agree |= {edge.proposed_by} - differ
        return len(agree) - len(differ) >= self.rules.quorum

    def neighbours(self, service: str, topic: str) -> set[str]:
        labels = {topic} | under(self.topics, topic)
        if self.rules.inherit_topics:
            labels |= set(over(self.topics, topic))
        own = set(self.services[service].categories)
        if self.rules.inherit_categories:
            own |= {above for category in own for above in over(self.categories, category)}
        found: set[str] = set()
        for edge in self.edges.values():
            if edge.source in own and edge.topic in labels and self.counts(edge):
                targets = {edge.target} | under(self.categories, edge.target)
                found |= {each.name for each in self.services.values() if targets & set(each.categories)}
        return found - {service}


def over(parents: Parents, name: str) -> list[str]:
    parent = parents[name]
    return [] if parent is None else [parent, *over(parents, parent)]


def under(parents: Parents, name: str) -> set[str]:
    return {each for each in parents if name in over(parents, each)}


def fits(parents: Parents, name: str, parent: str | None) -> bool:
    return parent is None or (parent in parents and name not in (parent, *over(parents, parent)))
