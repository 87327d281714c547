"""The action of an event: WS-Eventing's own, elsewhere made from the type."""

from functools import lru_cache

from tocsin.model.identity import Pairs
from tocsin.model.names import QName
from tocsin.model.notification import Notification

_SOAP = ("wse", "wsn", "onvif")
DEFAULT_ACTION = "urn:tocsin:notification"


def action_of(notification: Notification) -> str:
    if notification.attributes and notification.dialect.startswith(_SOAP):
        return notification.attribute("action") or action_for(notification.type)
    return action_for(notification.type)


@lru_cache(maxsize=1024)
def action_for(kind: QName | str | None) -> str:
    """The action of an event of that type, when its publisher gave none."""
    match kind:
        case QName(namespace, local) if namespace:
            return f"{namespace}{'' if namespace[-1] in '/#:' else '/'}{local}"
        case QName(_, local):
            return f"urn:{local}"
        case str(name):
            return " ".join(name.split()) or DEFAULT_ACTION
    return DEFAULT_ACTION


@lru_cache(maxsize=1024)
def attributes_for(action: str, kind: QName | str | None) -> Pairs:
    """An action that only repeats the type is not kept: any dialect can tell it from the type."""
    return (("action", action),) if action and action != action_for(kind) else ()
