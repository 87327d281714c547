"""Reading what a broker answers."""

import msgspec

from tocsin.markup import xml
from tocsin.mediation import addressing
from tocsin.mediation.entries import Values, read_entries, text_of
from tocsin.mediation.rules import Message
from tocsin.mediation.soap import open_envelope
from tocsin.model.refusal import Refusal
from tocsin.wire.answer import Answer


class ClientError(Exception):
    """The broker refused, or could not be reached; the text says why."""


class Said:
    """The entries of an answer, by the table its request names."""

    def __init__(self, content: xml.Element | None, values: Values | None) -> None:
        self.content, self._values = content, values

    def text(self, name: str) -> str:
        return (None if self._values is None else self._values.text(name)) or ""

    def address(self, name: str) -> str:
        element = None if self._values is None else self._values.element(name)
        if element is None:
            raise ClientError(f"the answer names no {name}")
        return addressing.address_of(element)


def said(message: Message, body: bytes) -> Said:
    answer = message.answer
    try:
        content = open_envelope(body).content
        if answer is None or content is None:
            return Said(content, None)
        return Said(content, read_entries(content, answer.entries))
    except Refusal as problem:
        raise ClientError(f"the answer cannot be read: {problem.text}") from None


def problem_of(answer: Answer) -> str:
    """One sentence: the fault's own words where there is a fault."""
    if answer.status == 0:
        return f"the broker could not be reached: {answer.error}"
    return f"{_words(answer.body) or 'no reason was given'} (HTTP {answer.status})"


def _words(body: bytes) -> str:
    try:
        if body.startswith(b"{"):
            return str(msgspec.json.decode(body, type=dict[str, object]).get("detail", ""))
        root = xml.parse(body)
    except (xml.MarkupError, msgspec.DecodeError):
        return body[:200].decode(errors="replace")
    return text_of(next((each for each in root.iter("{*}Text", "faultstring")), None))
