"""What a subscription or a pull point is about, as flags."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail

Expires = Annotated[str, typer.Option(help="A duration such as PT1H, or a time such as 2030-01-31T12:00:00Z.")]
_JOINED = {
    "topic": ", with | between alternatives",
    "content": ", and join the conditions by `and` (xpath, cesql) or `&&` (jsonpath)",
    "box": ", or subscribe once for each",
    "pattern": ", with all its statements one after the other",
    "sparql": ", with all its conditions in one query",
}
_Several = list[str] | None


@dataclass(frozen=True)
class About:
    """Each field is a flag. What can be said once is a list too, so that one that is said twice is not lost."""

    topic: Annotated[
        _Several, typer.Option(help="A topic expression, e.g. d:earthquake//. with --namespace d=urn:x.")
    ] = None
    topic_dialect: Annotated[str, typer.Option(help="simple, concrete, full or concrete-set.")] = "full"
    namespace: options.Namespace = None
    content: Annotated[
        _Several, typer.Option(metavar="EXPRESSION", help="What must hold of the content, e.g. '/alert/level > 3'.")
    ] = None
    content_language: Annotated[
        str,
        typer.Option(
            help="xpath, items or jsonpath of the payload, cesql of attributes, xpath-envelope, xpath-producer, sparql."
        ),
    ] = "xpath"
    types: Annotated[
        _Several,
        typer.Option(
            "--type", metavar="NAME", help="A type or a subtype of it: p:Alert, {urn:x}Alert, com.example.alert."
        ),
    ] = None
    producers: Annotated[
        _Several,
        typer.Option("--producer", metavar="ADDRESS", help="Who must have sent it: an address, or category:NAME."),
    ] = None
    box: Annotated[
        _Several,
        typer.Option(metavar="SPACE:SIDES", help="A region of an information space, e.g. 'weather:*,NJ/>25/<50'."),
    ] = None
    pattern: Annotated[
        _Several,
        typer.Option(
            metavar="STATEMENTS",
            help="Statement patterns of the event graph, e.g. '(_:H, ?1, (Selling, target, Computer))'.",
        ),
    ] = None
    sparql: Annotated[_Several, typer.Option(metavar="QUERY", help="An ASK or SELECT over the event graph.")] = None
    plain: Annotated[
        bool, typer.Option("--plain", help="With --sparql: its own meaning, where two variables may be one thing.")
    ] = False
    deliver_as: Annotated[
        str, typer.Option(metavar="SYNTAX", help="The event graph, as turtle, n-quads, json-ld or rdf-xml.")
    ] = ""
    bindings: Annotated[bool, typer.Option("--bindings", help="Tell what the variables of the pattern stand for.")] = (
        False
    )
    expires: Expires = ""
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="OFFSET|TIME", help="Begin there in the log, rather than now."),
    ] = None

    @property
    def said(self) -> bool:
        kept = About(topic_dialect=self.topic_dialect, namespace=self.namespace, content_language=self.content_language)
        return self != kept

    def options(self) -> dict[str, Any]:
        """As `Client.subscribe` takes them; what is wrong use is told."""
        from tocsin.client.filters import LANGUAGES
        from tocsin.mediation.graph_forms import SYNTAXES
        from tocsin.mediation.topics import DIALECTS

        check_expires(self.expires)
        _check("--topic-dialect", self.topic_dialect, DIALECTS.values())
        _check("--content-language", self.content_language, LANGUAGES)
        if self.plain and not self.sparql:
            fail("--plain goes with --sparql", WRONG_USE)
        if self.deliver_as:
            _check("--deliver-as", self.deliver_as, SYNTAXES)
        return {name: _once(name, getattr(self, name)) for name in _JOINED} | {
            "topic_dialect": self.topic_dialect,
            "namespaces": options.pairs(self.namespace),
            "content_language": self.content_language,
            "types": self.types or (),
            "producers": self.producers or (),
            "plain": self.plain,
            "deliver_as": self.deliver_as,
            "bindings": self.bindings,
            "expires": self.expires,
            "start": self.start,
        }


def check_expires(text: str) -> None:
    from tocsin.mediation import times
    from tocsin.model.refusal import Refusal

    try:
        if text:
            times.duration(text) if times.is_duration(text) else times.instant(text)
    except Refusal as refusal:
        fail(f"--expires: {refusal.text}", WRONG_USE)


def _check(option: str, value: str, known: Any) -> None:
    if value not in known:
        fail(f"{option} {value!r} is not known; choose one of {', '.join(known)}", WRONG_USE)


def _once(name: str, given: list[str] | None) -> str | None:
    """None only where nothing was said, for that asks for everything."""
    if not given:
        return None
    if len(given) > 1:
        fail(f"--{name} is said {len(given)} times; say it once{_JOINED[name]}", WRONG_USE)
    if not given[0].strip():
        fail(f"--{name}: the {name} filter is empty; leave it out for none", WRONG_USE)
    return given[0]
