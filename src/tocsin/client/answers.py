"""Reading what a broker answers."""

import msgspec

from tocsin.markup import xml
from tocsin.mediation.rules import Message
from tocsin.mediation.soap import addressing
from tocsin.mediation.soap.entries import Values, read_entries, text_of
from tocsin.mediation.soap.soap import open_envelope
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint
from tocsin.wire.answer import Answer

# A fault is 400 or 500 in SOAP, whatever it says.
_REFUSED = (400, 404, 410, 500)


class ClientError(Exception):
    """The broker refused, or could not be reached, or was asked for what the dialect lacks; the text says why.

    `status` is that of HTTP: 0 when there was no answer.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status

    @property
    def refused(self) -> bool:
        """The broker took the request and said no; who asks, and how busy it is, are other matters."""
        return self.status in _REFUSED


class Unreachable(ClientError):
    """No answer came: trying again later may help."""


class Said:
    """The entries of an answer, by the table its request names."""

    def __init__(self, body: bytes, content: xml.Element | None, values: Values | None) -> None:
        self.body, self.content, self._values = body, content, values

    def text(self, name: str) -> str:
        return (None if self._values is None else self._values.text(name)) or ""

    def endpoint(self, name: str) -> Endpoint:
        element = None if self._values is None else self._values.element(name)
        try:
            if element is not None:
                return addressing.endpoint(element, name)
        except Refusal as refusal:
            raise ClientError(f"the answer cannot be read: {refusal.text}") from None
        raise ClientError(f"the answer names no {name}")

    def address(self, name: str) -> str:
        """Empty when there is none."""
        return addressing.address_of(None if self._values is None else self._values.element(name))


def said(message: Message, body: bytes) -> Said:
    answer = message.answer
    try:
        content = open_envelope(body).content if body else None
        if answer is None or content is None:
            return Said(body, content, None)
        return Said(body, content, read_entries(content, answer.entries))
    except Refusal as problem:
        raise ClientError(f"the answer cannot be read: {problem.text}") from None


def checked(answer: Answer) -> Answer:
    if answer.status == 0:
        raise Unreachable(problem_of(answer))
    if not 200 <= answer.status < 300:
        raise ClientError(problem_of(answer), answer.status)
    return answer


def problem_of(answer: Answer) -> str:
    """One sentence: the fault's own words where there is a fault."""
    if answer.status == 0:
        return f"the broker could not be reached: {_as_client(answer.error)}"
    return f"{_words(answer.body) or 'no reason was given'} (HTTP {answer.status})"


def _as_client(error: str) -> str:
    """The words for those who deliver name a setting of the broker's."""
    error = error.replace("the consumer's certificate", "its certificate")
    return error.replace("see delivery.ca_file", "name the file of its authority as the CA file")


def _words(body: bytes) -> str:
    try:
        if body.startswith(b"{"):
            return str(msgspec.json.decode(body, type=dict[str, object]).get("detail", ""))
        root = xml.parse(body)
    except (xml.MarkupError, msgspec.DecodeError):
        return body[:200].decode(errors="replace")
    return text_of(next((each for each in root.iter("{*}Text", "faultstring")), None))
