"""One notification as the trees of the messages that its subscribers would be sent, which differ in their headers."""

from functools import cached_property

from msgspec.structs import replace

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError
from tocsin.mediation.dialects import BY_NAME, customise
from tocsin.mediation.soap.namespaces import TOCSIN
from tocsin.mediation.soap.payloads import XML_TYPE, as_element
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Subscription

_HOLE = Payload(XML_TYPE, f'<Hole xmlns="{TOCSIN}"/>'.encode())


class Envelopes:
    """The payload is parsed once and put into the envelope that is asked about: of these only one is kept at a time."""

    def __init__(self, notification: Notification, base_url: str) -> None:
        self._notification, self._base_url = notification, base_url

    def written(self, subscription: Subscription) -> bytes:
        return customise(self._notification, subscription, self._base_url)[1]

    def tree(self, subscription: Subscription) -> Element | None:
        """Until the next is asked for; None for what is not XML."""
        dialect = BY_NAME.get(subscription.form.dialect)
        if dialect is None or not dialect.is_soap or self._payload is None:
            return parsed(self.written(subscription))
        root = xml.parse(customise(self._without_payload, subscription, self._base_url)[1])
        *_, hole = root.iter(f"{{{TOCSIN}}}Hole")  # a consumer may have had one put into the headers
        above = hole.getparent()
        assert above is not None
        above.replace(hole, self._payload)
        return root

    @cached_property
    def _payload(self) -> Element | None:
        return parsed(as_element(self._notification))

    @cached_property
    def _without_payload(self) -> Notification:
        return replace(self._notification, payload=_HOLE)


def parsed(document: bytes) -> Element | None:
    try:
        return xml.parse(document)
    except MarkupError:
        return None
