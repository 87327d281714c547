"""Labels of the world as topics on the wire: people name topics freely, WS-Topics wants a path of NCNames."""

import re

from tocsin.model.names import NCNAME, QName, Topic
from tocsin.semantics.interest.taxonomy import Taxonomy

_FOREIGN = re.compile(r"[^\w.\-]+")


def topic_of(topics: Taxonomy, label: str) -> Topic:
    """`Disaster Info` under nothing is `Disaster-Info`; a topic under it is `Disaster-Info/Earthquake`."""
    return topic_of_path(topics.path(label))


def topic_of_path(path: tuple[str, ...]) -> Topic:
    return Topic(tuple(QName("", _ncname(label)) for label in path))


def _ncname(label: str) -> str:
    name = _FOREIGN.sub("-", label).strip("-") or "topic"
    return name if NCNAME.fullmatch(name) else f"_{name}" if NCNAME.fullmatch(f"_{name}") else "topic"
