"""What is said of names that there are not."""

from tests.pace import within

from tocsin.model.refusal import MOST_SEEN, SHOWN, known_names


def test_the_nearest_name_is_asked_for_whatever_its_case() -> None:
    assert known_names("earthqake", ["Fire", "Earthquake"]) == "did you mean 'Earthquake'? there are: Fire, Earthquake"


def test_few_are_named_all_and_of_many_the_number_is_told() -> None:
    names = [f"name {number}" for number in range(SHOWN + 14)]
    assert known_names("zoo", names[:SHOWN]) == f"there are: {', '.join(names[:SHOWN])}"
    assert known_names("zoo", names).endswith("name 9 and 14 more")
    assert known_names("name 23", names).startswith("did you mean 'name 23'? there are: name 0, ")


def test_of_very_many_the_likely_ones_are_compared() -> None:
    names = [f"http://producer.example/{number:05}/{'abcdefgh' * 4}" for number in range(5_000)]
    with within(200):
        assert known_names(names[7][::-1], names).startswith("there are: ")
    assert known_names("Weathr", [*names, *map(str, range(900)), "weather"][1_000:]).startswith(
        "did you mean 'weather'?"
    )


def test_names_are_written_only_as_far_as_they_are_looked_at() -> None:
    written = list[str]()

    def shown(name: str) -> str:
        written.append(name)
        return name.upper()

    assert known_names("x", map(str, range(9_000)), shown).endswith(", 9 and 8,990 more")
    assert len(written) == MOST_SEEN
    assert known_names("weathr", ["weather"], shown) == "did you mean 'WEATHER'? there are: WEATHER"


def test_where_there_are_none() -> None:
    assert known_names("zoo", []) == "there are: none"
