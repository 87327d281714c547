"""Why an event matches a subscription, or does not: as a tree for people, as a document for programs."""

from typing import Any

from rich.text import Text
from rich.tree import Tree

from tocsin.cli.match_files import Asked
from tocsin.markup.graphs.graph_pattern import GraphPattern
from tocsin.matching.explain.graphs import reason_text
from tocsin.matching.explain.wording import term_text, test_text, vertex_text
from tocsin.matching.graphs.partial_match import PartialMatch, furthest_match
from tocsin.matching.graphs.search import Bindings, find
from tocsin.matching.judge import Undecided
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph


class Explained:
    """Of one pair: the mapping that was found, or how far one gets."""

    def __init__(self, asked: Asked, event: EventGraph, model: ConceptModel) -> None:
        self._id, self._event, self._model = asked.id, event, model
        self._undecided = ""
        self._found: Bindings | None = None
        self._partial: PartialMatch | None = None
        try:
            self._found = find(asked.query, event, model)
        except Undecided as problem:
            self._undecided = str(problem)
        if self._found is None and not self._undecided:
            self._partial = furthest_match(asked.query, event, model)

    def document(self) -> dict[str, Any]:
        if self._undecided:
            return {"subscription": self._id, "matches": None, "undecided": self._undecided}
        document: dict[str, Any] = {"subscription": self._id, "matches": self._found is not None}
        document["mapping"] = self._names()
        if self._found is not None:
            return document | {"bindings": self._found.terms}
        return document | {"failed": self._failed(), "reasons": self._reasons()}

    def tree(self) -> Tree:
        if self._undecided:
            return Tree(Text(f"{self._id}: {self._undecided}", style="yellow"))
        matches = self._found is not None
        said = f"{self._id} {'matches' if matches else 'does not match'}"
        tree, (pattern, mapping) = Tree(Text(said, style="green" if matches else "red")), self._mapped()
        for at, vertex in sorted(mapping.items()):
            told = vertex_text(self._event.vertexes[vertex], self._model.short)
            tree.add(Text(f"{self._asked_for(pattern, at)}: {told}"))
        if self._partial is not None and self._partial.failed is not None:
            failed = tree.add(Text(f"{self._asked_for(pattern, self._partial.failed)}: nothing", style="red"))
            for each in self._reasons():
                failed.add(Text(each))
        return tree

    def _mapped(self) -> tuple[GraphPattern, dict[int, int]]:
        if self._found is not None:
            return self._found.pattern, dict(enumerate(self._found.mapping))
        assert self._partial is not None
        return self._partial.pattern, self._partial.mapping

    def _names(self) -> dict[str, str]:
        pattern, mapping = self._mapped()
        return {pattern.vertexes[at].name: self._event.vertexes[vertex].term for at, vertex in mapping.items()}

    def _failed(self) -> str | None:
        found = self._partial
        return None if found is None or found.failed is None else found.pattern.vertexes[found.failed].name

    def _reasons(self) -> list[str]:
        found = self._partial
        if found is None:
            return []
        more = [] if found.complete else ["there may be more: the search was cut short"]
        return [reason_text(each, self._model.short) for each in found.reasons] + more

    def _asked_for(self, pattern: GraphPattern, at: int) -> str:
        vertex, short = pattern.vertexes[at], self._model.short
        entry = next((arc for arc in pattern.arcs if arc.target == at), None)
        words = [f"a {short(each)}" for each in vertex.classes] + list(map(test_text, vertex.tests))
        if entry is not None:
            words.insert(0, f"the {short(entry.property)} of {pattern.vertexes[entry.source].name}")
        name = vertex.name if vertex.constant is None else term_text(vertex.constant, short)
        return ", ".join((name, *words))
