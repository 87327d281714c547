"""What can be asked for, and what is taken for it."""

import pytest

from tocsin.model.refusal import Refusal
from tocsin.model.reply_types import LONGEST_REPLY, reply_type

SCHEMA = 'json:{"type":"object","required":["beds"],"properties":{"beds":{"type":"integer","minimum":0}}}'


@pytest.mark.parametrize(
    "text, said, counted",
    [
        ("enum:yes,no, unknown ", "unknown", "unknown"),
        ('enum:["a,b","c"]', "a,b", "a,b"),
        ("enum:1,2", 1, "1"),
        ("int:0..500", "+007", "7"),
        ("int:..0", -5, "-5"),
        ("integer", "12", "12"),
        ("boolean", True, "true"),
        ("bool", " FALSE ", "false"),
        ("pattern:[A-Z]{3}", "ABC", "ABC"),
        ("text:5", "größe", "größe"),
        ("text", "x" * 200, "x" * 200),
        (SCHEMA, {"beds": 3, "at": "x"}, '{"at":"x","beds":3}'),
        (SCHEMA, '{ "beds": 3 }', '{"beds":3}'),
        ('json:{"type":"string"}', "just text", '"just text"'),
    ],
)
def test_values_have_one_spelling(text: str, said: object, counted: str) -> None:
    assert reply_type(text).value_of(said) == counted


@pytest.mark.parametrize(
    "text, said, why",
    [
        ("enum:yes,no", "maybe", "one of yes, no"),
        ("enum:yes,no", {"yes": 1}, "a text"),
        ("int:0..500", "501", "an integer from 0 to 500"),
        ("int:0..", -1, "from 0"),
        ("int", "many", "an integer"),
        ("int", "9" * 19, "an integer"),
        ("int", 2**63, "an integer"),
        ("int", True, "an integer"),
        ("boolean", "1", "true or false"),
        ("pattern:[A-Z]{3}", "ABCD", "matches"),
        ("pattern:(a+)+$", "a" * 5000, "at most 4096"),
        ("text:3", "four", "at most 3"),
        (SCHEMA, {"beds": -1}, "-1 is less than the minimum"),
        (SCHEMA, "none", "not of type"),
        ("json:{}", "x" * (LONGEST_REPLY + 1), "at most 4096"),
    ],
)
def test_what_is_not_asked_for_is_refused_with_what_is(text: str, said: object, why: str) -> None:
    with pytest.raises(Refusal, match=why) as refused:
        reply_type(text).value_of(said)
    assert refused.value.reason == "bad-reply"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "enum",
        "enum:",
        "enum:a,,b",
        "enum:a,a",
        "enum:[1]",
        "enum:" + ",".join(map(str, range(1001))),
        "int:5..1",
        "int:x",
        "boolean:maybe",
        "pattern:",
        "pattern:(",
        "text:0",
        "text:99999",
        "text:many",
        "json:",
        "json:{",
        'json:{"type":"nothing"}',
        'json:{"$ref":"http://127.0.0.1:9/schema"}',
        "xml:yes",
        "enum:" + "x" * 20_000,
    ],
)
def test_what_is_no_type_is_refused_with_what_can_be_written(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        reply_type(text)
    assert refused.value.reason == "bad-reply-type"


def test_no_pattern_takes_long() -> None:
    with pytest.raises(Refusal):
        reply_type("pattern:(a|a)*b").value_of("a" * 4000)
    with pytest.raises(Refusal):
        reply_type('json:{"type":"string","pattern":"^(a|a)*b$"}').value_of("a" * 4000)
