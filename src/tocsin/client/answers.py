"""What a broker answers: a document, or what is wrong."""

from typing import TypeVar

import msgspec

from tocsin.client.errors import ClientError, Unreachable
from tocsin.markup import xml
from tocsin.markup.xml import text_of
from tocsin.wire.answer import Answer

Document = TypeVar("Document")


def checked(answer: Answer) -> Answer:
    if answer.status == 0:
        raise Unreachable(problem_of(answer))
    if not 200 <= answer.status < 300:
        raise ClientError(problem_of(answer), answer.status)
    return answer


def decoded(body: bytes, kind: type[Document]) -> Document:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ClientError(f"the answer cannot be read: {problem}") from None


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
