"""interact, against a running broker."""

import json
from typing import Any, cast

import pytest
from tests.cli.inside import inside

from tocsin.blocking import Client

pytestmark = pytest.mark.broker
WORLD = {
    "topics": {"Beds": None},
    "categories": {"Hospitals": None, "Desks": None},
    "edges": [["Desks", "Beds", "Hospitals"]],
}


def said(*arguments: str) -> Any:
    return json.loads(inside("interact", *arguments, "--json").stdout)


def test_all_of_it_by_command(broker: str) -> None:
    at = ("--broker", broker)
    with Client(broker) as client:
        client.world.load(WORLD)
        boxes = {
            name: client.notifiers.create(name, [category], qualities=qualities, tells=tells).subscription
            for name, category, qualities, tells in (
                ("Anna", "Hospitals", {"distance": 3.0}, {}),
                ("Boni", "Hospitals", {"distance": 9.0}, {}),
                ("Desk", "Desks", {}, {"Beds": "Boni"}),
            )
        }
        assert "nothing was asked yet" in inside("interact", "list", *at).stderr
        listed = inside("interact", "patterns", *at).stderr
        assert "push-1:n-implicit" in listed and "2c" in listed and "producer" in listed
        assert len(said("patterns", *at)["items"]) == 8

        wish = ("--by", "Desk", "--category", "Hospitals", "--avoid", "distance:2", "--at-most", "distance=10")
        picked = inside("interact", "ask", "pull-1:1-implicit", "Beds", '{"ward": 3}', *wish, *at).stderr
        assert "Desk asked Anna: request " in picked and "1 excluded: not under the category 'Hospitals'" in picked
        (request,) = said("list", "--state", "open", *at)["items"]
        assert (request["of"], client.request(request["id"]).content()) == ("Anna", {"ward": 3})
        answered = inside("interact", "answer", request["id"], "12", "--by", "Anna", *at).stderr
        assert answered.startswith("Anna told Desk: message urn:tocsin:request:")
        assert [each.payload.data for each in client.pull(boxes["Desk"], wait=30)] == [b"12"]
        assert "is ended" in inside("interact", "end", request["id"], "--by", "Desk", *at).stderr
        refused = inside("interact", "answer", request["id"], "13", "--by", "Anna", *at, check=False)
        assert refused.returncode == 1 and "was ended before" in refused.stderr

        text = ("--media-type", "text/plain")
        told = said("tell", "push-1:1-implicit", "Beds", "how many?", "--by", "Desk", *text, *at)
        assert told["told"] == ["Boni"]
        assert [each.payload.data for each in client.pull(boxes["Boni"], wait=30)] == [b"how many?"]
        spread = inside("interact", "tell", "push-1:n-implicit", "Beds", "1", "--by", "Desk", *at).stderr
        assert "Desk told Anna, Boni: message " in spread
        record = inside("interact", "record", "--service", "Anna", *at).stderr.splitlines()
        assert [line.split("  ")[1:] for line in record] == [
            ["pull-1:1-implicit", "Desk asked 'Beds' -> Anna"],
            ["pull-1:1-implicit", "Anna answered 'Beds' -> Desk"],
            ["pull-1:1-implicit", "Desk ended 'Beds' of Anna"],
            ["push-1:n-implicit", "Desk told 'Beds' -> Anna, Boni"],
        ]
        slip = ("--by", "Desk", "--category", "Hospitals", "--avoid", "distanc")
        refused = inside("interact", "ask", "pull-1:1-implicit", "Beds", *slip, *at, check=False)
        assert refused.returncode == 1 and "the qualities there are: distance" in " ".join(refused.stderr.split())
        stands = said("ask", "push-1:n-explicit", "Beds", "--by", "Boni", "--of", "Desk", *at)
        lines = inside("interact", "record", "--request", stands["id"], "--service", "Desk", *at).stderr.splitlines()
        assert [line.split("  ")[1:] for line in lines] == [["push-1:n-explicit", "Boni asked 'Beds' of Desk"]]
        table = inside("interact", "list", *at).stderr
        assert request["id"] in table and "ended" in table


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("ask", "pull-1:1-explicit", "T", "{", "--by", "a"), "is not JSON"),
        (("ask", "pull-1:1-implicit", "T", "1", "--by", "a", "--prefer", "speed:fast"), "has no number"),
        (("ask", "pull-1:1-implicit", "T", "1", "--by", "a", "--at-most", "price"), "has no number"),
        (("ask", "pull-1:1-explicit", "T"), "--by"),
    ],
)
def test_wrong_use_is_said_before_anything_is_asked(words: tuple[str, ...], problem: str) -> None:
    done = inside("interact", *words, check=False)
    assert done.returncode == 2
    assert problem in done.stderr


def test_a_thin_subscription_by_command(broker: str) -> None:
    made = json.loads(
        inside(
            "subscribe", "--to", "http://127.0.0.1:9/", "--topic", "films", "--thin", "--json", "--broker", broker
        ).stdout
    )
    with Client(broker) as client:
        (listed,) = cast(dict[str, Any], client.get("/api/subscriptions"))["items"]
        assert (listed["thin"], listed["id"] in made["address"]) == (True, True)
    words = ("subscribe", "--to", "http://127.0.0.1:9/", "--thin", "--as", "wsn-1.3", "--broker", broker)
    refused = inside(*words, check=False)
    assert refused.returncode == 1 and "has no place for thin" in refused.stderr
