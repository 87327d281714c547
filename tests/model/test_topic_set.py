from tocsin.model.names import QName, Topic
from tocsin.model.topics import Branch, DeclaredTopic, TopicNamespace, TopicSet

X = "urn:x"


def test_only_roots_carry_the_namespace() -> None:
    quake = DeclaredTopic("quake", (DeclaredTopic("strong", (DeclaredTopic("far"),)), DeclaredTopic("weak")))
    found = [str(topic) for topic, _ in TopicNamespace(X, (quake, DeclaredTopic("flood"))).concrete()]
    roots = ["{urn:x}quake", "{urn:x}quake/strong", "{urn:x}quake/strong/far", "{urn:x}quake/weak", "{urn:x}flood"]
    assert found == roots


def test_a_root_with_a_parent_stands_below_it() -> None:
    parent = Topic((QName("urn:other", "a"), QName("", "b")))
    declared = TopicNamespace(X, (DeclaredTopic("more", (DeclaredTopic("still"),), parent=parent),))
    assert [str(topic) for topic, _ in declared.concrete()] == [
        "{urn:other}a/b/{urn:x}more",
        "{urn:other}a/b/{urn:x}more/still",
    ]


def test_a_set_has_each_topic_once_and_in_order() -> None:
    a, b = Topic((QName(X, "a"),)), Topic((QName(X, "b"),))
    assert TopicSet.of([b, a, b]).topics == (a, b)
    assert a in TopicSet.of([a]) and b not in TopicSet.of([a])


def test_a_step_between_topics_is_none_itself() -> None:
    deep, root = Topic((QName(X, "a"), QName("", "b"), QName("", "c"))), Topic((QName(X, "d"),))
    c = Branch(QName("", "c"), True, ())
    b = Branch(QName("", "b"), False, (c,))
    assert TopicSet.of([deep, root]).forest() == (Branch(QName(X, "a"), False, (b,)), Branch(QName(X, "d"), True, ()))
