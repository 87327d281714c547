"""Which dialects can do what, by their tables."""

from tocsin.client import requests
from tocsin.mediation.dialects import BY_NAME, NAMES


def having(operation: str) -> list[str]:
    """What is not SOAP goes by the JSON API, which has everything."""
    return [name for name in NAMES if _has(name, operation)]


def lacking(operation: str) -> list[str]:
    return [name for name in NAMES if not _has(name, operation)]


def _has(name: str, operation: str) -> bool:
    rules = BY_NAME[name]
    if not rules.is_soap:
        return True
    if operation == "CreatePullPoint" and requests.own_pull_point(rules) is not None:
        return True
    return requests.operation(rules, operation) is not None
