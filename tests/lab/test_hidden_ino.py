"""The hidden INO is what its description says, and the same for the same seed."""

from tocsin.lab.workloads.hidden_ino import CATEGORIES, EDGES, TOPICS, hidden_ino


def test_it_has_the_size_that_it_is_asked_for() -> None:
    made = hidden_ino(1, 0.1)
    assert (len(made.world.categories), len(made.world.topics), len(made.edges)) == (CATEGORIES, TOPICS, EDGES)
    assert not made.world.edges
    assert {len(made.world.categories.above(each)) for each in made.world.categories} == {1, 2, 3}


def test_a_seed_says_all() -> None:
    assert hidden_ino(1, 0.1).history == hidden_ino(1, 0.1).history
    assert hidden_ino(2, 0.1).edges != hidden_ino(1, 0.1).edges


def test_without_noise_exactly_those_are_told_whom_the_edges_lead_to() -> None:
    made = hidden_ino(3, 0.0, categories=20, topics=40)
    topics, categories, services = made.world.topics, made.world.categories, made.world.services
    for each in made.history:
        leaving = [
            target
            for source, topic, target in made.edges
            if source in services[each.producer].categories and each.topic in topics.above(topic)
        ]
        led = {
            name
            for name, one in services.items()
            if any(target in categories.above(own) for target in leaving for own in one.categories)
        }
        assert set(each.told) == led - {each.producer}


def test_noise_takes_tellings_away_and_adds_others() -> None:
    quiet, noisy = (hidden_ino(4, noise, categories=20, topics=40) for noise in (0.0, 0.3))
    assert len(noisy.history) > len(quiet.history)
    assert quiet.edges == noisy.edges
