"""Alerts after the Common Alerting Protocol, with more fields, and XPath filters over them."""

from random import Random

from msgspec import Struct

CAP = "urn:oasis:names:tc:emergency:cap:1.2"
NUMBER = 0
HIGHEST = 1000
_PARTS: dict[str, dict[str, int]] = {  # below which element stands what, of how many values; attributes with an @
    "": {
        "@version": 10, "@priority": NUMBER, "identifier": 5000, "sender": 1000, "status": 5, "msgType": 5, "scope": 3,
        "source": 500, "code": 200, "incidents": 2000,
    },
    "info": {
        "language": 20, "category": 12, "event": 300, "responseType": 8, "urgency": 5, "severity": 5, "certainty": 5,
        "audience": 100, "senderName": 1000, "contact": 2000, "magnitude": NUMBER, "depth": NUMBER,
        "windSpeed": NUMBER, "rainfall": NUMBER, "waterLevel": NUMBER, "temperature": NUMBER,
    },
    "info/resource": {
        "resourceDesc": 200, "mimeType": 10, "digest": 5000, "size": NUMBER, "duration": NUMBER,
    },
    "info/area": {
        "@level": 5, "areaDesc": 3000, "geocode": 5000, "region": 500, "district": 2000, "altitude": NUMBER,
        "ceiling": NUMBER, "population": NUMBER, "shelters": NUMBER,
    },
}  # fmt: skip


class Field(Struct, frozen=True):
    """`values` is how many it takes, by chance, and 0 for a number from 0 to 1000."""

    below: str
    name: str
    values: int

    @property
    def path(self) -> str:
        return "/".join(("/cap:alert", *(f"cap:{each}" for each in self.below.split("/") if each), self.step))

    @property
    def step(self) -> str:
        return self.name if self.name.startswith("@") else f"cap:{self.name}"

    def value(self, random: Random) -> str:
        return f"{self.name.removeprefix('@')}-{random.randrange(self.values)}" if self.values else number(random)


def number(random: Random, low: float = 0.0, high: float = HIGHEST) -> str:
    return f"{random.uniform(low, high):.1f}"


FIELDS = tuple(Field(below, name, values) for below, part in _PARTS.items() for name, values in part.items())
NUMBERS = tuple(each for each in FIELDS if each.values == NUMBER)
NAMES = tuple(each for each in FIELDS if each.values > 20)  # what tells many alerts apart
WORDS = tuple(each for each in FIELDS if each.values)


def alert(random: Random) -> str:
    """Three in ten have a second area."""
    areas = "".join(_part("info/area", random) for _ in range(1 + (random.random() < 0.3)))
    info = _part("info", random, _part("info/resource", random) + areas)
    return _part("", random, info)


def _part(below: str, random: Random, inner: str = "") -> str:
    name = f"cap:{below.rpartition('/')[2] or 'alert'}"
    attributes = "" if below else f' xmlns:cap="{CAP}"'
    children = ""
    for each in _FIELDS_OF[below]:
        if each.name.startswith("@"):
            attributes += f' {each.name[1:]}="{each.value(random)}"'
        else:
            children += f"<cap:{each.name}>{each.value(random)}</cap:{each.name}>"
    return f"<{name}{attributes}>{children}{inner}</{name}>"


_FIELDS_OF = {below: [each for each in FIELDS if each.below == below] for below in _PARTS}


def filter_text(random: Random) -> str:
    """Of the benchmark of content: 35 % one equality, 40 % an equality and a range, 15 % with `//`, 10 % ranges."""
    share = random.random()
    if share < 0.35:
        return _equal(random.choice(NAMES), random)
    if share < 0.75:
        return f"{_equal(random.choice(NAMES), random)} and {_beyond(random.choice(NUMBERS), random)}"
    if share < 0.90:
        name = random.choice(NAMES)
        text = f"//{name.step} = '{name.value(random)}'"
        if random.random() < 0.6:
            return text
        return f"{text} and //{random.choice(NUMBERS).step} > {number(random)}"
    # one narrow range, or the ends of two
    one, other = random.sample(NUMBERS, 2)
    if random.random() < 0.5:
        low = random.uniform(0, 980)
        return f"{one.path} >= {low:.1f} and {one.path} <= {low + random.uniform(2, 20):.1f}"
    return f"{one.path} > {number(random, 930)} and {other.path} < {number(random, 0, 70)}"


def part_text(random: Random) -> str:
    """One comparison, or two, beside filters of other kinds; also of what many alerts have."""
    share = random.random()
    if share < 0.6:
        return _equal(random.choice(WORDS), random)
    if share < 0.8:
        return _beyond(random.choice(NUMBERS), random)
    return f"{_equal(random.choice(WORDS), random)} and {_beyond(random.choice(NUMBERS), random)}"


def _equal(field: Field, random: Random) -> str:
    return f"{field.path} = '{field.value(random)}'"


def _beyond(field: Field, random: Random) -> str:
    return f"{field.path} {random.choice(('<', '<=', '>', '>='))} {number(random)}"
