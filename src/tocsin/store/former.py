"""Tables of earlier formats, and how what was in them became what it is now: files of any age are brought up."""

from typing import Any

import msgspec

CONSENTS = """
CREATE TABLE consent (
    subscription TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, given INTEGER NOT NULL, rate INTEGER
) STRICT, WITHOUT ROWID
"""
# Whose consent was written down without the address it was given for is asked again: no address is empty.
CONSENT_ADDRESSES = """
ALTER TABLE consent ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE consent ADD COLUMN earlier TEXT NOT NULL DEFAULT ''
"""
CONSENTS_TO_MACHINES = """
INSERT INTO machine_row SELECT 'consent', subscription, iif(given, 'given', 'asked'),
    packed('consent', packed(token, address, rate, words(earlier))) FROM consent WHERE address <> '';
DROP TABLE consent
"""
REGISTRATIONS = """
CREATE TABLE registration (id TEXT PRIMARY KEY, body BLOB NOT NULL, upstream BLOB) STRICT, WITHOUT ROWID
"""
REGISTRATIONS_TO_MACHINES = """
INSERT INTO machine_row SELECT 'demand', id, 'registration', packed('registration', body) FROM registration;
INSERT INTO machine_row SELECT 'demand', id, 'upstream', packed('upstream', upstream) FROM registration
    WHERE upstream IS NOT NULL;
DROP TABLE registration
"""


def packed(*values: Any) -> bytes:
    """An array in MessagePack; of what is packed already (a BLOB) as it is."""
    return bytes((0x90 | len(values),)) + b"".join(map(_packed, values))


def words(text: str) -> bytes:
    return msgspec.msgpack.encode(text.split())


def _packed(value: Any) -> bytes:
    return value if isinstance(value, bytes) else msgspec.msgpack.encode(value)
