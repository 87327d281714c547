"""Envelopes as clients write them."""

import msgspec

from tocsin.mediation import dialects
from tocsin.mediation.operations import Answer, Context, Renewed, Reply, Status, Subscribed
from tocsin.mediation.soap.namespaces import SOAP_11, SOAP_12, WSA_2004, WSA_2005, WSE, WSN
from tocsin.model.identity import SECOND, Instant, Node
from tocsin.model.records import Accepted
from tocsin.model.subscription import Position

NOW = Instant(1_700_000_000 * SECOND)  # 2023-11-14T22:13:20Z
SOAP = {"1.1": SOAP_11, "1.2": SOAP_12}
WSA = {"2004/08": WSA_2004, "2005/08": WSA_2005}


def envelope(content: str, headers: str = "", soap: str = "1.2", wsa: str = "2005/08") -> bytes:
    declared = f'xmlns:soap="{SOAP[soap]}" xmlns:wsa="{WSA[wsa]}" xmlns:wsnt="{WSN}" xmlns:wse="{WSE}" xmlns:t="urn:t"'
    header = f"<soap:Header>{headers}</soap:Header>" if headers else ""
    return f"<soap:Envelope {declared}>{header}<soap:Body>{content}</soap:Body></soap:Envelope>".encode()


def accepted(body: bytes, dialect: str, door: str = "/broker", headers: tuple[tuple[str, str], ...] = ()) -> Accepted:
    return Accepted(Position(Node("n"), 4), NOW, door, dialect, headers, None, "the-cause", body)


def answer_to(context: Context, answer: Answer) -> Reply:
    """To the request of that dialect which is answered so."""
    local = {Subscribed: "Subscribe", Renewed: "Renew", Status: "GetStatus"}.get(type(answer), "Unsubscribe")
    namespace = WSN if context.dialect.startswith("wsn") else WSE
    asked = msgspec.structs.replace(context, operation=f"{{{namespace}}}{local}")
    return dialects.answer(asked, answer, "http://b")
