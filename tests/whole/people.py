"""Users of a broker, and what they say to show who they are; written out by hand."""

import base64
import hashlib
import itertools
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.whole.shell import environment

from tocsin.model.access import Action, Right
from tocsin.model.identity import Pairs
from tocsin.model.topics import parse_topic_expression
from tocsin.store.database import Store

WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
PROFILE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0"
_numbers = itertools.count()


def known(data: Path, name: str, *rights: Right, password: str | None = "") -> None:
    """One more user; the password is the name twice, unless it is told."""
    store = Store.open(data / "tocsin.db")
    store.users.add(name, name * 2 if password == "" else password, rights)
    store.close()


def about(action: Action, topic: str) -> Right:
    return Right(action, parse_topic_expression(topic, "full", {}))


def users(data: Path, *words: str) -> str:
    """What the command prints."""
    done = subprocess.run(
        (sys.executable, "-m", "tocsin", "users", *words, "--data", str(data)),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def basic(name: str, password: str = "") -> Pairs:
    """The password of each is the name twice, unless it is told."""
    return (("Authorization", f"Basic {base64.b64encode(f'{name}:{password or name * 2}'.encode()).decode()}"),)


def bearer(token: str) -> Pairs:
    return (("Authorization", f"Bearer {token}"),)


def zulu(seconds: float = 0.0) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def digest_header(name: str, password: str = "", *, created: str = "", nonce: bytes = b"", must: str = "") -> str:
    created = created or zulu()
    nonce = nonce or os.urandom(12) + b"%d" % next(_numbers)
    made = base64.b64encode(hashlib.sha1(nonce + created.encode() + (password or name * 2).encode()).digest()).decode()
    return (
        f'<q:Security xmlns:q="{WSSE}" xmlns:u="{WSU}" {must}><q:UsernameToken><q:Username>{name}</q:Username>'
        f'<q:Password Type="{PROFILE}#PasswordDigest">{made}</q:Password>'
        f"<q:Nonce>{base64.b64encode(nonce).decode()}</q:Nonce><u:Created>{created}</u:Created></q:UsernameToken></q:Security>"
    )


def text_header(name: str, password: str = "") -> str:
    return (
        f'<q:Security xmlns:q="{WSSE}"><q:UsernameToken><q:Username>{name}</q:Username>'
        f'<q:Password Type="{PROFILE}#PasswordText">{password or name * 2}</q:Password></q:UsernameToken></q:Security>'
    )


def with_header(said: tuple[Pairs, bytes], block: str) -> tuple[Pairs, bytes]:
    headers, body = said
    return headers, body.replace(b"</e:Header>", block.encode() + b"</e:Header>")
