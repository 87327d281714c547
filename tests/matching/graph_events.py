"""Events about auctions as RDF, XML and JSON, and filters that ask for graph patterns of them."""

import json
from typing import Literal

from hypothesis import strategies as st
from msgspec.structs import replace
from tests.matching.anything import LEAVES, NOTIFICATIONS

from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import (
    Declaration,
    LiftedArc,
    Lifting,
    LiteralAt,
    MetaStatement,
    Named,
    Ontology,
    Parents,
    ThingAt,
)
from tocsin.model.filters import AllOf, AnyOf, Filter, Graph, Not
from tocsin.model.notification import Notification, Payload

A = "urn:auction#"
XSD = "http://www.w3.org/2001/XMLSchema#"
DECIMAL = f"{XSD}decimal"
PREFIXES = (("", A), ("xsd", XSD))


def ontology(classes: dict[str, str], properties: dict[str, str]) -> Ontology:
    return Ontology(
        "auction",
        _parents(classes),
        _parents(properties),
        (
            MetaStatement(f"{A}Deal", f"{A}target", f"{A}Product"),
            MetaStatement(f"{A}Deal", f"{A}price", f"{A}MoneyValue"),
            MetaStatement(f"{A}MoneyValue", f"{A}amount", DECIMAL),
            MetaStatement(f"{A}MoneyValue", f"{A}currency", f"{A}Currency"),
        ),
        ((f"{A}dollar", (f"{A}Currency",)),),
        PREFIXES,
    )


def _parents(names: dict[str, str]) -> Parents:
    return tuple((A + name, (A + above,) if above else ()) for name, above in names.items())


_CLASSES = {
    "Deal": "",
    "Selling": "Deal",
    "Buying": "Deal",
    "Product": "",
    "Computer": "Product",
    "Desktop": "Computer",
    "Notebook": "Computer",
    "Chair": "Product",
    "MoneyValue": "",
    "Currency": "",
}
_PROPERTIES = {"target": "", "main": "target", "price": "", "amount": "", "currency": ""}
AUCTION = ontology(_CLASSES, _PROPERTIES)
CHANGED = ontology({**_CLASSES, "Notebook": "Product", "Chair": "Computer"}, {**_PROPERTIES, "main": ""})
ONTOLOGIES = (AUCTION, CHANGED)


def _lifting(syntax: Literal["xml", "json"], home: str, below: str, types: tuple[str, ...], each: str = "") -> Lifting:
    money = ThingAt(
        f"{below}price",
        (f"{A}MoneyValue",),
        (
            LiftedArc(f"{A}amount", LiteralAt(f"{below}amount", DECIMAL)),
            LiftedArc(f"{A}currency", Named(f"{A}dollar", (f"{A}Currency",))),
        ),
    )
    arcs = (
        LiftedArc(f"{A}target", ThingAt(f"{below}pc{each}", (f"{A}Desktop",))),
        LiftedArc(f"{A}main", ThingAt(f"{below}chair", (f"{A}Chair",))),
        LiftedArc(f"{A}price", money),
    )
    return Lifting(syntax, syntax, ThingAt(home, (f"{A}Selling",), arcs), types)


LIFTINGS = (
    _lifting("xml", "/offer", "", ()),
    _lifting("json", "$", "@.", ("org.quake",), "[*]"),
)
DECLARED: tuple[Declaration, ...] = (AUCTION, *LIFTINGS)


def known(*declared: Declaration) -> Catalogue:
    return Catalogue((*DECLARED, *declared))


def pattern(text: str) -> Graph:
    return Graph("pattern", text, PREFIXES)


def sparql(text: str, plain: bool = False) -> Graph:
    return Graph("sparql", text, PREFIXES, plain)


SELLING = pattern("(_:H, ?1, (Selling, target, Computer))")
CHEAP = pattern(
    """(_:H, ?1, (Selling, target, Computer))
       (_:H, ?2, (Selling, price, MoneyValue))
       (?2, dollar, (MoneyValue, currency, Currency))
       (?2, ?3, (MoneyValue, amount, xsd:decimal), ?3 < 400)"""
)
GRAPHS = (
    SELLING,
    CHEAP,
    pattern("(_:H, ?1, (Deal, target, Product)) (_:H, ?2, (Deal, target, Product))"),
    pattern("(_:H, ?1, (Buying, main, Chair))"),
    sparql("ASK { _:H a :Selling ; :price ?p . ?p :amount ?a FILTER(?a >= 400) }"),
    sparql("ASK { _:H a :Deal ; :target ?t , ?u . ?t a :Computer . ?u a :Product }", plain=True),
    sparql("ASK { { _:H a :Buying } UNION { _:H :target ?t . ?t a :Chair } }"),
)


def turtle(home: str, targets: list[tuple[str, str]], amount: str) -> bytes:
    things = "".join(f"; :{name} _:t{at} " for at, (name, _) in enumerate(targets))
    classes = "".join(f"_:t{at} a :{kind} .\n" for at, (_, kind) in enumerate(targets))
    money = f"; :price _:m .\n_:m a :MoneyValue ; :amount {amount} ; :currency :dollar" if amount else ""
    return f"@prefix : <{A}> .\n_:H a :{home} {things}{money} .\n{classes}".encode()


TARGETS = st.tuples(st.sampled_from(("target", "main")), st.sampled_from(("Desktop", "Notebook", "Chair", "Product")))
AMOUNTS = st.sampled_from(("", "399.5", "450.0"))
RDF = st.builds(turtle, st.sampled_from(("Selling", "Buying", "Deal")), st.lists(TARGETS, max_size=2), AMOUNTS)
XML = st.builds(
    lambda pc, chair, amount: (
        f"<offer>{pc}{chair}{f'<price><amount>{amount}</amount></price>' if amount else ''}</offer>"
    ).encode(),
    st.sampled_from(("", "<pc/>", "<pc/><pc/>")),
    st.sampled_from(("", "<chair/>")),
    AMOUNTS,
)
JSON = st.builds(
    lambda pcs, amount: json.dumps(
        {"pc": [{}] * pcs, **({"price": {"amount": float(amount)}} if amount else {})}
    ).encode(),
    st.integers(0, 2),
    AMOUNTS,
)
PAYLOADS = st.one_of(
    RDF.map(lambda data: Payload("text/turtle; charset=utf-8", data)),
    RDF.map(lambda data: Payload("text/turtle", data)),
    XML.map(lambda data: Payload("application/xml", data)),
    JSON.map(lambda data: Payload("application/json", data)),
    st.sampled_from((Payload("text/turtle", b"@prefix"), Payload("text/plain", b""))),
)


def with_payload(told: Notification, payload: Payload) -> Notification:
    return replace(told, payload=payload)


EVENTS = NOTIFICATIONS | st.builds(with_payload, NOTIFICATIONS, PAYLOADS)
LEAF: st.SearchStrategy[Filter] = st.one_of(st.sampled_from(GRAPHS), st.sampled_from(GRAPHS), LEAVES)
FILTERS = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda some: AllOf(tuple(some))),
        st.lists(inner, max_size=3).map(lambda some: AnyOf(tuple(some))),
        inner.map(Not),
    ),
    max_leaves=5,
)
