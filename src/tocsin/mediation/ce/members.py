"""JSON objects by a table: the engine for dialects without XML. An entry's path is the name of one member."""

from collections.abc import Mapping

import msgspec

from tocsin.mediation.rules import Entry
from tocsin.model.refusal import Refusal

Entries = tuple[Entry, ...]
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode
_texts = msgspec.json.Decoder(dict[str, str]).decode
_encode = msgspec.json.Encoder().encode


class Members:
    """The entries that were found, each still as it was written."""

    def __init__(self, found: Mapping[str, bytes]) -> None:
        self._found = found

    def raw(self, name: str) -> bytes | None:
        return self._found.get(name)

    def text(self, name: str) -> str | None:
        value = self._found.get(name)
        try:
            return None if value is None else _text(value)
        except msgspec.DecodeError:
            raise Refusal("malformed", f"{name} is not a text") from None

    def texts(self, name: str) -> dict[str, str]:
        try:
            return _texts(self._found.get(name, b"{}"))
        except msgspec.DecodeError:
            raise Refusal("malformed", f"{name} is not an object whose members are texts") from None


def read_members(body: bytes, entries: Entries) -> Members:
    """Present is transformed, absent and defaulted is added, absent and required is refused (WS-Messenger table 3)."""
    try:
        said = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"this is not a JSON object: {problem}") from None
    places = {entry.path[0].local: entry.name for entry in entries}
    for member in said:
        if member not in places:
            raise Refusal("malformed", f"{member[:80]!r} is not a member; there are {', '.join(places)}")
    found = {places[member]: bytes(raw) for member, raw in said.items()}
    for entry in entries:
        if entry.name not in found:
            if entry.required:
                raise Refusal("malformed", f"the member {entry} is missing")
            if entry.default is not None:
                found[entry.name] = _encode(entry.default)
    return Members(found)


def write_members(values: Mapping[str, object], entries: Entries) -> bytes:
    """None is left out; bytes are JSON already."""
    members = (
        b'"%b":%b' % (str(entry).encode(), value if isinstance(value, bytes) else _encode(value))
        for entry in entries
        if (value := values.get(entry.name)) is not None
    )
    return b"{%b}" % b",".join(members)
