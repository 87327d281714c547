"""`/notifiers/{name}?wsdl`: one template, in which each notifier has its own name and address."""

import re
from importlib.resources import files

from tocsin.markup import xml
from tocsin.mediation.operations import Reply
from tocsin.mediation.ws.notifier_messages import HEADERS
from tocsin.semantics.interest.ino import topic_of_path

_EACH_HEADER = re.compile(r"<!-- HEADER (.*?) -->")
_TEMPLATE = _EACH_HEADER.sub(
    lambda found: "".join(found[1].replace("HEADER", each) for each in HEADERS),
    files("tocsin.doors").joinpath("wsdl_files", "notifier.wsdl").read_text("utf-8"),
)
_HEADERS = (("Content-Type", "text/xml; charset=utf-8"),)


def asks_for_wsdl(query: bytes) -> bool:
    """Tools write it as `?wsdl` and as `?WSDL`."""
    return query.partition(b"=")[0].lower() == b"wsdl"


def description(name: str, address: str) -> Reply:
    """The service has the notifier's name, as far as XML lets it be one."""
    service = str(topic_of_path((name,)))
    said = _TEMPLATE.replace('"ADDRESS"', xml.attribute(address).decode()).replace('"SERVICE"', f'"{service}"')
    return Reply(200, _HEADERS, said.encode())
