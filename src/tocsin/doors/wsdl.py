"""The broker (`/broker?wsdl`, `/broker?xsd=NAME`), each notifier, and how to reply, described in WSDL 1.1 for tools."""

import re
from importlib.resources import files

from tocsin.markup import xml
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Reply
from tocsin.mediation.ws.notifier_messages import HEADERS
from tocsin.model.paths import BROKER, SOAP_REPLIES
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.ino import topic_of_path
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
        path: str = scope.get("path", BROKER)
        if path.startswith(SOAP_REPLIES):
            return _reply("reply.wsdl", base_url, path)
        return _reply("broker.wsdl", base_url)
    if name.lower() != "xsd":
        return None
    if value not in SCHEMAS:
        known = ", ".join(SCHEMAS)
        return problem(Refusal("unknown-operation", f"there is no schema {value[:80]!r}; there are {known}"))
    return _reply(f"{value}.xsd", base_url)


def _reply(name: str, base_url: str, path: str = BROKER) -> Reply:
    """Everything it refers to is here too."""
    address = xml.text(base_url + path).decode()
    text = _DOCUMENTS[name].replace(_ADDRESS, address)
    here = _LOCATION.sub(lambda found: f'schemaLocation="{address}?xsd={found[1]}"', text)
    return Reply(200, _HEADERS, here.encode())


_EACH_HEADER = re.compile(r"<!-- HEADER (.*?) -->")
_TEMPLATE = _EACH_HEADER.sub(
    lambda found: "".join(found[1].replace("HEADER", each) for each in HEADERS),
    files("tocsin.doors").joinpath("wsdl_files", "notifier.wsdl").read_text("utf-8"),
)


def asks_for_wsdl(query: bytes) -> bool:
    """Tools write it as `?wsdl` and as `?WSDL`."""
    return query.partition(b"=")[0].lower() == b"wsdl"


def notifier_description(name: str, address: str) -> Reply:
    """The service has the notifier's name, as far as XML lets it be one."""
    service = str(topic_of_path((name,)))
    said = _TEMPLATE.replace('"ADDRESS"', xml.attribute(address).decode()).replace('"SERVICE"', f'"{service}"')
    return Reply(200, _HEADERS, said.encode())
