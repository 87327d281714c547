"""`/broker?wsdl` and `/broker?xsd=NAME`: the broker described in WSDL 1.1, for tools that make clients of that."""

import re
from importlib.resources import files

from tocsin.markup import xml
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Reply
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Scope

_DOCUMENTS = {each.name: each.read_text() for each in files("tocsin.doors").joinpath("wsdl_files").iterdir()}
SCHEMAS = tuple(sorted(name.removesuffix(".xsd") for name in _DOCUMENTS if name.endswith(".xsd")))
_ADDRESS = "http://localhost:8080/broker"
_LOCATION = re.compile(r'schemaLocation="([\w-]+)\.xsd"')
_HEADERS = (("Content-Type", "text/xml; charset=utf-8"),)


def description(scope: Scope, base_url: str) -> Reply | None:
    """What the query asks for; None when it asks for no description. Tools write it as `?wsdl` and as `?WSDL`."""
    name, _, value = scope.get("query_string", b"").decode("latin-1").partition("=")
    if name.lower() == "wsdl":
        return _reply("broker.wsdl", base_url)
    if name.lower() != "xsd":
        return None
    if value not in SCHEMAS:
        known = ", ".join(SCHEMAS)
        return problem(Refusal("unknown-operation", f"there is no schema {value[:80]!r}; there are {known}"))
    return _reply(f"{value}.xsd", base_url)


def _reply(name: str, base_url: str) -> Reply:
    """Everything it refers to is here too."""
    address = xml.text(f"{base_url}/broker").decode()
    text = _DOCUMENTS[name].replace(_ADDRESS, address)
    here = _LOCATION.sub(lambda found: f'schemaLocation="{address}?xsd={found[1]}"', text)
    return Reply(200, _HEADERS, here.encode())
