"""Forests of names."""

import pytest

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.taxonomy import DEEPEST, LONGEST_NAME, Taxonomy, parents_first


def family() -> Taxonomy:
    return Taxonomy("topic", {"Quake": "Disaster", "Flood": "Disaster", "Disaster": None, "Aftershock": "Quake"})


def test_what_is_below_and_above() -> None:
    names = family()
    assert set(names.below("Disaster")) == {"Disaster", "Quake", "Flood", "Aftershock"}
    assert list(names.below("Aftershock")) == ["Aftershock"]
    assert names.above("Aftershock") == ["Aftershock", "Quake", "Disaster"]
    assert names.path("Aftershock") == ("Disaster", "Quake", "Aftershock")
    assert len(names) == 4
    assert "Flood" in names


def test_a_name_moves_with_all_that_is_under_it() -> None:
    names = family()
    names.put("Quake", "Flood")
    assert names.path("Aftershock") == ("Disaster", "Flood", "Quake", "Aftershock")
    names.put("Quake")
    assert names.path("Aftershock") == ("Quake", "Aftershock")
    assert set(names.below("Disaster")) == {"Disaster", "Flood"}


@pytest.mark.parametrize(
    ("name", "parent", "text"),
    [
        ("Disaster", "Aftershock", "a cycle"),
        ("Disaster", "Disaster", "a cycle"),
        ("New", "New", "there is no topic 'New'"),
        ("New", "Nothing", "there is no topic 'Nothing'; there are: Disaster"),
        ("", None, "needs a name"),
        (" x", None, "printable characters, not ' x'"),
        ("a\nb", None, "printable"),
        ("x" * (LONGEST_NAME + 1), None, "printable"),
    ],
)
def test_what_is_refused_changes_nothing(name: str, parent: str | None, text: str) -> None:
    names = family()
    before = dict(names.items())
    with pytest.raises(Refusal, match=text):
        names.put(name, parent)
    assert dict(names.items()) == before
    assert set(names.below("Disaster")) == before.keys()


def test_depth_is_bounded_for_what_moves_too() -> None:
    names = Taxonomy("topic")
    for start in ("a", "b"):
        for number in range(DEEPEST // 2 + 1):
            names.put(f"{start}{number}", f"{start}{number - 1}" if number else None)
    with pytest.raises(Refusal, match=f"deeper than {DEEPEST}"):
        names.put("b0", f"a{DEEPEST // 2}")
    names.put("b1", f"a{DEEPEST // 2 - 1}")
    assert max(len(names.path(name)) for name in names) == DEEPEST


def test_one_with_others_under_it_stays() -> None:
    names = family()
    with pytest.raises(Refusal, match="has others under it: Aftershock"):
        names.remove("Quake")
    with pytest.raises(Refusal, match="there is no topic 'Storm'"):
        names.remove("Storm")
    names.remove("Aftershock")
    names.remove("Quake")
    assert set(names) == {"Disaster", "Flood"}


def test_a_cycle_has_no_first() -> None:
    with pytest.raises(Refusal, match="the category taxonomy has a cycle: B under C under B; break it"):
        parents_first("category", {"A": "B", "B": "C", "C": "B"})


def test_a_cycle_of_many_is_named_in_short() -> None:
    around = {str(number): str((number + 1) % 5000) for number in range(5000)}
    with pytest.raises(Refusal) as refused:
        parents_first("category", around)
    assert len(refused.value.text) < 200
