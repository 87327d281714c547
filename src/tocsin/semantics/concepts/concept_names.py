"""How the terms of ontologies are written and read: by prefix, or bare below an empty prefix."""

import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from tocsin.model.ontology import Ontology
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.ontology_vocabulary import USUAL_PREFIXES, canonical
from tocsin.semantics.known_names import known_names

_LOCAL = re.compile(r"[\w.~%-]*")
_PREFIXED = re.compile(r"([^\s:<>\"'?]*):([^\s<>\"]*)")


class Names:
    """Of a prefix that two ontologies use for two namespaces, the first one's counts; they come in order of names. The
    usual prefixes of RDF and OWL are what they are."""

    def __init__(self, ontologies: Iterable[Ontology] = ()) -> None:
        self._of: dict[str, dict[str, None]] = {}  # namespaces of a prefix, in order
        for each in ontologies:
            for prefix, namespace in each.prefixes:
                self._of.setdefault(prefix, {}).setdefault(namespace)
        declared = {prefix: next(iter(namespaces)) for prefix, namespaces in self._of.items()}
        self.prefixes: Mapping[str, str] = MappingProxyType({**declared, **USUAL_PREFIXES})
        self._by_namespace = {namespace: prefix for prefix, namespace in reversed(list(self.prefixes.items()))}
        self._longest = max(map(len, self._by_namespace), default=0)

    def short(self, iri: str) -> str:
        """As people know it: the longest namespace gives the prefix."""
        for end in range(min(len(iri), self._longest), 0, -1):
            prefix = self._by_namespace.get(iri[:end])
            if prefix is not None and _LOCAL.fullmatch(iri, end):
                return f"{prefix}:{iri[end:]}" if prefix else iri[end:]
        return f"<{iri[:300]}>"

    def resolve(self, text: str, prefixes: Mapping[str, str], terms: Collection[str]) -> str:
        if text.startswith("<") and text.endswith(">"):
            return canonical(text[1:-1])
        if (found := _PREFIXED.fullmatch(text)) is None:
            return self._bare(text, prefixes, terms)
        namespace = prefixes.get(found[1]) or self.prefixes.get(found[1])
        if namespace is None:
            known = known_names(found[1], sorted({*prefixes, *self.prefixes} - {""}))
            raise Refusal(
                "unknown-name", f"{text[:200]}: there is no prefix {found[1]!r}; {known}. Write an IRI as <...>"
            )
        return canonical(namespace + found[2])

    def _bare(self, name: str, prefixes: Mapping[str, str], terms: Collection[str]) -> str:
        if (own := prefixes.get("")) is not None:
            return canonical(own + name)
        for namespace in self._of.get("", ()):
            if namespace + name in terms:
                return namespace + name
        known = known_names(name, sorted(filter(lambda each: ":" not in each, map(self.short, terms))))
        raise Refusal("unknown-name", f"there is no term {name[:200]!r}; {known}. Write others as prefix:name or <IRI>")
