from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.names import topic
from tocsin.semantics.interest.ino import topic_of, topic_of_path
from tocsin.semantics.interest.taxonomy import Taxonomy


def test_a_label_becomes_a_path_of_names() -> None:
    topics = Taxonomy("topic", {"Disaster Info": None, "Earthquake (M>5)": "Disaster Info", "2030": None, "/": None})
    written = {label: str(topic_of(topics, label)) for label in topics}
    assert written == {
        "Disaster Info": "Disaster-Info",
        "Earthquake (M>5)": "Disaster-Info/Earthquake-M-5",
        "2030": "_2030",
        "/": "topic",
    }


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=4))
def test_any_label_can_be_written(labels: list[str]) -> None:
    made = topic_of_path(tuple(labels))
    assert topic(str(made)) == made
