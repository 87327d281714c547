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
IMPLICIT = """
CREATE TABLE implicit_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, peer TEXT NOT NULL, kind TEXT NOT NULL, time INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE implicit_copy (
    id TEXT PRIMARY KEY, notifier TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, body BLOB NOT NULL,
    time INTEGER NOT NULL
) STRICT;
CREATE TABLE implicit_history (
    notifier TEXT NOT NULL, message TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (notifier, message)
) STRICT, WITHOUT ROWID;
CREATE TABLE implicit_told (
    message TEXT NOT NULL, notifier TEXT NOT NULL, copy TEXT NOT NULL, time INTEGER NOT NULL,
    PRIMARY KEY (message, notifier)
) STRICT, WITHOUT ROWID;
CREATE TABLE implicit_notifier (service TEXT PRIMARY KEY, subscription TEXT NOT NULL, body BLOB NOT NULL) STRICT
"""
# A copy begins with its id; who it is for stands behind the message and its sender. Claims are made anew.
IMPLICIT_TO_MACHINES = """
INSERT INTO machine_row SELECT 'implicit', service, '', packed('member', packed(body, subscription))
    FROM implicit_notifier;
INSERT INTO machine_row SELECT 'implicit', notifier, 'had:' || message, packed('had', packed(time))
    FROM implicit_history;
INSERT INTO machine_row SELECT 'implicit', '', length(message) || ':' || message || notifier,
    packed('grant', packed(message, notifier, copy, time)) FROM implicit_told;
INSERT INTO machine_inbox SELECT 'implicit', id, notifier, state = 'done', time,
    iif(state = 'done', x'', packed(kind, body)) FROM implicit_copy;
INSERT INTO machine_outbox (family, peer, lane, id, machine, time, body)
    SELECT 'implicit', peer, iif(kind = 'copy', 'letters', 'foreign'), item(body, 0), item(body, 3), time,
    packed('copy', body) FROM implicit_outbox WHERE kind IN ('copy', 'foreign') ORDER BY seq;
INSERT INTO machine_outbox (family, peer, lane, id, machine, time, body)
    SELECT 'implicit', peer, 'reports', '', '', time, packed('report', body) FROM implicit_outbox
    WHERE kind = 'report' ORDER BY seq;
DROP TABLE implicit_notifier;
DROP TABLE implicit_history;
DROP TABLE implicit_told;
DROP TABLE implicit_copy;
DROP TABLE implicit_outbox
"""
TO_MACHINES = ";".join((CONSENTS_TO_MACHINES, REGISTRATIONS_TO_MACHINES, IMPLICIT_TO_MACHINES))


def packed(*values: Any) -> bytes:
    """An array in MessagePack; of what is packed already (a BLOB) as it is."""
    return bytes((0x90 | len(values),)) + b"".join(map(_packed, values))


def item(body: bytes, number: int) -> str:
    """Of a packed array."""
    return str(msgspec.msgpack.decode(body)[number])


def words(text: str) -> bytes:
    return msgspec.msgpack.encode(text.split())


def _packed(value: Any) -> bytes:
    return value if isinstance(value, bytes) else msgspec.msgpack.encode(value)
