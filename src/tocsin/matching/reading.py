"""The condition that an expression of any content language amounts to."""

from functools import lru_cache

from tocsin.markup import cesql, items, jsonpath, xpath_subset
from tocsin.markup.conditions import Condition
from tocsin.model.filters import Content

REMEMBERED = 65_536


@lru_cache(maxsize=REMEMBERED)
def condition_of(asked: Content) -> Condition | None:
    """None for a legal expression that is more than a condition; raises `ExpressionError` for what is none."""
    match asked.language:
        case "xpath":
            return xpath_subset.read(asked.text, dict(asked.namespaces))
        case "items":
            return items.read(asked.text, dict(asked.namespaces))
        case "jsonpath":
            return jsonpath.read(asked.text)
        case "cesql":
            return cesql.read(asked.text)
        case "sparql":
            return None
