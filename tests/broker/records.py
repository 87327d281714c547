"""Records as a node writes them."""

from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.names import QName
from tocsin.model.records import Accepted, Changed, Position
from tocsin.model.subscription import Endpoint, Form, Subscription

NODE = Node("node")


def accepted(offset: int, topic: str, dialect: str = "raw", body: bytes = b"x") -> Accepted:
    headers = (("content-type", "text/plain"),)
    at = Position(NODE, offset)
    return Accepted(at, Instant(offset), f"/broker/publish/{topic}", dialect, headers, None, f"cause-{offset}", body)


def subscribed(offset: int, name: SubscriptionId, topic: str) -> Changed:
    at = Position(NODE, offset)
    wanted = TopicIs(((QName("", topic),),))
    consumer = Endpoint("http://127.0.0.1:9/")
    return Changed(
        at, Instant(offset), Subscription(name, None, consumer, None, Form("cloudevents"), (wanted,), at, None)
    )
