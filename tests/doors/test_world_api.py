"""`/api/world`: whole and piece by piece; what would contradict itself is refused and changes nothing."""

import asyncio
import itertools
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from tests.doors.world_door import BASE, Door, Keeper, Said

from tocsin.broker.caller import NODE, Caller
from tocsin.routing.implicit.services import Changes, Running
from tocsin.semantics.interest.changes import Change, PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World

PLAIN = {
    "topics": {"Disaster Info": None, "Earthquake": "Disaster Info"},
    "categories": {"Orgs": None, "Research": "Orgs", "Media": "Orgs"},
    "services": {"IDER": ["Research"], "USGS": ["Research"], "TV": ["Media"]},
    "edges": [["Research", "Disaster Info", "Media"], ["Research", "Earthquake", "Research"]],
}
EDGE = {"source": "Research", "topic": "Disaster Info", "target": "Media"}
OTHER = {"source": "Media", "topic": "Earthquake", "target": "Research"}
NOTIFIER = Service("TV", ("Media",), notifier=f"{BASE}/notifiers/TV", node=BASE, address="http://tv.example/")


@pytest.fixture
async def door() -> Door:
    door = Door(Keeper())
    assert (await door("PUT", "/api/world", PLAIN)).status == 200
    return door


def shape(world: World) -> object:
    """All that a world has, but not the order in which it came to it."""
    return (
        world.rules,
        dict(world.topics.items()),
        dict(world.categories.items()),
        world.owners,
        world.services,
        world.edges,
    )


def checked(said: Said, status: int, *words: str) -> None:
    problem = said.json
    assert said.status == status == problem["status"], problem
    assert all(word in problem["detail"] for word in words), problem["detail"]


# The whole


async def test_what_is_put_is_what_is_got(door: Door) -> None:
    got = await door("GET", "/api/world")
    assert got.headers["content-type"] == "application/json"
    other = Door(Keeper())
    answer = await other("PUT", "/api/world", got.body)
    assert answer.json | {"version": 0, "changed": 0} == {
        "version": 0,
        "topics": 2,
        "categories": 3,
        "services": 3,
        "edges": 2,
        "changed": 0,
    }
    assert shape(other.keeper.kept) == shape(door.keeper.kept)


@pytest.mark.parametrize("form", ["text/turtle", "application/rdf+xml", "application/json"])
@pytest.mark.parametrize("asked", ["accept", "form"])
async def test_every_form_goes_round(door: Door, form: str, asked: str) -> None:
    path = f"/api/world?{urlencode({'form': form})}" if asked == "form" else "/api/world"
    got = await door("GET", path, accept=f"text/html;q=0.2, {form};q=0.9, */*;q=0.1")
    assert got.headers["content-type"].startswith(form)
    other = Door(Keeper())
    assert (await other("PUT", "/api/world?replace=true", got.body, content_type=form)).status == 200
    assert shape(other.keeper.kept) == shape(door.keeper.kept)


async def test_a_bare_table_makes_the_names_it_uses(door: Door) -> None:
    table = await door("GET", "/api/world", accept="text/csv")
    other = Door(Keeper())
    refused = await other("PUT", "/api/world", table.body, content_type="text/csv")
    assert refused.status in (404, 409) and not other.keeper.history
    assert (await other("PUT", "/api/world?create=true", table.body, content_type="text/csv")).status == 200
    assert other.keeper.kept.edges.keys() == door.keeper.kept.edges.keys()


async def test_what_cannot_be_told_as_asked(door: Door) -> None:
    checked(await door("GET", "/api/world", accept="image/png"), 400, "text/turtle")
    checked(await door("PUT", "/api/world", b"x", content_type="image/png"), 400, "image/png")


async def test_what_is_loaded_again_changes_nothing(door: Door) -> None:
    before = door.keeper.kept.version
    answer = await door("PUT", "/api/world", PLAIN)
    assert (answer.json["changed"], answer.version) == (0, before)


async def test_to_add_a_part_leaves_the_rest(door: Door) -> None:
    await door("PUT", "/api/world/categories/Media", {"owner": "ann"})
    await door("POST", "/api/world/edges/votes", EDGE | {"agrees": True, "by": "bob"})
    part = {"services": {"BBC": ["Media"]}, "categories": {"Media": None}, "edges": [list(EDGE.values())]}
    assert (await door("PUT", "/api/world", part)).json["changed"] == 1
    world = door.keeper.kept
    assert (world.categories.parent("Media"), world.owners["Media"]) == ("Orgs", "ann")
    assert [vote.by for vote in world.edges[tuple(EDGE.values())].votes] == ["bob"]  # type: ignore[index]
    assert {"IDER", "BBC"} <= world.services.keys()


async def test_to_replace_takes_the_rest_away(door: Door) -> None:
    part = {
        "topics": {"Earthquake": None},
        "categories": {"Research": None, "Orgs": "Research"},
        "services": {"USGS": ["Orgs"]},
    }
    assert (await door("PUT", "/api/world?replace=true&by=ann", part)).status == 200
    world = door.keeper.kept
    assert dict(world.topics.items()) == {"Earthquake": None}
    assert dict(world.categories.items()) == {"Research": None, "Orgs": "Research"}
    assert list(world.services) == ["USGS"] and not world.edges
    assert {each.by for each in door.keeper.history[-8:]} == {"ann"}


async def test_services_that_tell_each_other_can_be_loaded_and_replaced() -> None:
    told = {"T": None}, {"C": None}
    pair = {"A": {"categories": ["C"], "tells": {"T": "B"}}, "B": {"categories": ["C"], "tells": {"T": "A"}}}
    door = Door(Keeper())
    whole = {"topics": told[0], "categories": told[1], "services": pair}
    assert (await door("PUT", "/api/world", whole)).status == 200
    assert door.keeper.kept.services["A"].tells == {"T": "B"}
    assert (await door("PUT", "/api/world?replace=true", whole | {"services": {}})).status == 200
    assert door.keeper.kept.services == {}


async def test_a_notifier_that_runs_is_not_replaced_by_a_document(door: Door) -> None:
    await door.keeper.change_world(NODE, [PutService(NOTIFIER)], "")
    assert (await door("PUT", "/api/world", PLAIN)).json["changed"] == 0
    without = PLAIN | {"services": {"IDER": ["Research"]}}
    checked(await door("PUT", "/api/world?replace=true", without), 409, "TV", "notifiers remove")
    moved = PLAIN | {"services": {"TV": ["Research"]}}
    assert (await door("PUT", "/api/world", moved)).status == 200
    assert door.keeper.kept.services["TV"].node == BASE
    assert door.keeper.kept.services["TV"].categories == ("Research",)


# Bad input: a clear error, and nothing is changed


BAD: dict[str, tuple[str, str, object, int, tuple[str, ...]]] = {
    "an edge to an unknown category": ("PUT", "/edges", EDGE | {"target": "Zoo"}, 404, ("category", "Zoo", "Media")),
    "an edge on an unknown topic": ("PUT", "/edges", EDGE | {"topic": "Zoo"}, 404, ("topic", "Zoo")),
    "an edge in a document to an unknown category": (
        "PUT",
        "",
        PLAIN | {"edges": [["Research", "Earthquake", "Zoo"]]},
        409,
        ("edges[0]", "Zoo"),
    ),
    "a cycle of topics": ("PUT", "/topics/Disaster%20Info", {"parent": "Earthquake"}, 409, ("cycle",)),
    "a cycle of categories": ("PUT", "/categories/Orgs", {"parent": "Research"}, 409, ("cycle",)),
    "a cycle in a document": ("PUT", "", {"categories": {"A": "B", "B": "A"}}, 409, ("cycle",)),
    "a name under itself": ("PUT", "/categories/Orgs", {"parent": "Orgs"}, 409, ("cycle",)),
    "a service without category": ("PUT", "/services/X", {"categories": []}, 409, ("X", "category")),
    "a service without category in a document": ("PUT", "", {"services": {"X": []}}, 409, ("X", "category")),
    "a service of an unknown category": ("PUT", "/services/X", {"categories": ["Zoo"]}, 404, ("Zoo",)),
    "a service that tells nobody there is": (
        "PUT",
        "/services/X",
        {"categories": ["Media"], "tells": {"Earthquake": "Zoo"}},
        409,
        ("Zoo",),
    ),
    "a service at no address": ("PUT", "/services/X", {"categories": ["Media"], "notifier": "ftp://x"}, 400, ("ftp",)),
    "a service at a node of ours": ("PUT", "/services/X", {"categories": ["Media"], "node": BASE}, 400, ("node",)),
    "a name of nothing": ("PUT", "/topics/%20", {}, 409, ("topic", "name")),
    "a name too long": ("PUT", f"/topics/{'x' * 257}", {}, 409, ("256",)),
    "a vote on no edge": ("POST", "/edges/votes", OTHER | {"agrees": True, "by": "ann"}, 404, ("no edge",)),
    "a vote of nobody": ("POST", "/edges/votes", EDGE | {"agrees": True}, 409, ("who",)),
    "a vote of no opinion": ("POST", "/edges/votes", EDGE | {"by": "ann"}, 400, ("agrees",)),
    "services whose names are no names in an address": (
        "PUT",
        "",
        {"services": {"..": ["Media"]}},
        409,
        ("'..'", "address"),
    ),
    "an edge of a time that cannot be kept": ("PUT", "", {"edges": [EDGE | {"when": 10**22}]}, 409, ("years",)),
    "a quorum of more than there can be": ("PUT", "/rules", {"quorum": 10**22}, 409, ("quorum",)),
    "no quorum": ("PUT", "/rules", {"quorum": 0}, 409, ("quorum",)),
    "a field that is not known": ("PUT", "/topics/X", {"parents": []}, 400, ("parents",)),
    "a topic that is used": ("DELETE", "/topics/Earthquake", b"", 409, ("Research -Earthquake-> Research",)),
    "a topic with others under it": ("DELETE", "/topics/Disaster%20Info", b"", 409, ()),
    "a category that is used": ("DELETE", "/categories/Media", b"", 409, ("remove that first",)),
    "a service that is not": ("DELETE", "/services/Zoo", b"", 404, ("Zoo", "IDER")),
    "an edge that is not": ("DELETE", f"/edges?{urlencode(OTHER)}", b"", 404, ("no edge",)),
    "an edge that is not named": ("DELETE", "/edges?source=Media", b"", 400, ("topic",)),
    "a root that is not registered": ("GET", "/neighbours?service=Zoo&topic=Earthquake", b"", 404, ("Zoo", "IDER")),
    "neighbours about no topic": ("GET", "/neighbours?service=IDER&topic=Zoo", b"", 404, ("Zoo",)),
    "edges from nowhere": ("GET", "/edges?source=Zoo", b"", 404, ("no category 'Zoo'", "Research")),
    "edges to nowhere": ("GET", "/edges?target=Medea", b"", 404, ("did you mean 'Media'?",)),
    "edges on nothing": ("GET", "/edges?source=Media&topic=Zoo", b"", 404, ("no topic 'Zoo'",)),
    "neighbours of nobody": ("GET", "/neighbours?topic=Earthquake", b"", 400, ("?service=NAME",)),
    "what is no JSON": ("PUT", "", b"{", 400, ("JSON",)),
    "what is no world": ("PUT", "", b"[]", 400, ()),
    "neither true nor false": ("PUT", "?replace=maybe", PLAIN, 400, ("replace",)),
    "a page of nothing": ("GET", "/history?after=x", b"", 400, ("after",)),
}


@pytest.mark.parametrize("title", BAD)
async def test_bad_input(door: Door, title: str) -> None:
    method, path, body, status, words = BAD[title]
    before, history = shape(door.keeper.kept), list(door.keeper.history)
    checked(await door(method, f"/api/world{path}", body), status, *words)
    assert (shape(door.keeper.kept), door.keeper.history) == (before, history)


async def test_of_a_document_with_one_fault_nothing_is_taken(door: Door) -> None:
    before = shape(door.keeper.kept)
    wrong = {"topics": {"Fire": None}, "categories": {"New": None}, "edges": [["New", "Fire", "Zoo"]]}
    checked(await door("PUT", "/api/world", wrong), 409, "Zoo")
    assert shape(door.keeper.kept) == before


# Two who edit


async def test_who_has_read_an_older_version_overwrites_nothing(door: Door) -> None:
    version = (await door("GET", "/api/world")).headers["etag"]
    assert (await door("PUT", "/api/world/topics/Fire", {}, if_match=version)).status == 200
    late = await door("PUT", "/api/world/topics/Flood", {}, if_match=version)
    checked(late, 412, "changed by somebody else", "read it again")
    assert "Flood" not in door.keeper.kept.topics
    for tags in ("*", '"0", W/"{}"'):
        said = tags.format(door.keeper.kept.version)
        assert (await door("PUT", "/api/world/topics/Flood", {}, if_match=said)).status == 200


async def test_of_two_at_the_same_time_one_is_told(door: Door) -> None:
    version = (await door("GET", "/api/world/rules")).headers["etag"]
    asked = (door("PUT", f"/api/world/topics/T{number}", {}, if_match=version) for number in range(5))
    assert sorted(each.status for each in await asyncio.gather(*asked)) == [200, 412, 412, 412, 412]


async def test_who_has_the_latest_is_not_sent_it_again(door: Door) -> None:
    tag = (await door("GET", "/api/world")).headers["etag"]
    again = await door("GET", "/api/world", if_none_match=tag)
    assert (again.status, again.body) == (304, b"")


# Piece by piece


async def test_a_topic_from_its_beginning_to_its_end(door: Door) -> None:
    path = f"/api/world/topics/{quote('Fire / Forest', safe='')}"
    made = await door("PUT", path, {"parent": "Disaster Info", "by": "ann"})
    assert made.json == {"name": "Fire / Forest", "parent": "Disaster Info", "children": []}
    assert made.version == door.keeper.kept.version
    assert (await door("GET", "/api/world/topics/Disaster Info")).json["children"] == ["Earthquake", "Fire / Forest"]
    assert [each["name"] for each in (await door("GET", "/api/world/topics")).json["items"]] == sorted(
        door.keeper.kept.topics
    )
    assert door.keeper.history[-1].by == "ann"
    assert (await door("DELETE", f"{path}?by=ann")).status == 204
    checked(await door("GET", path), 404, "Fire / Forest")


async def test_a_category_keeps_what_is_not_spoken_of(door: Door) -> None:
    owned = (await door("PUT", "/api/world/categories/Media", {"owner": "ann"})).json
    assert owned == {"name": "Media", "parent": "Orgs", "owner": "ann", "children": [], "services": ["TV"]}
    moved = (await door("PUT", "/api/world/categories/Media", {"parent": None})).json
    assert (moved["parent"], moved["owner"]) == (None, "ann")
    assert (await door("PUT", "/api/world/categories/Media", {"owner": None})).json["owner"] is None
    listed = (await door("GET", "/api/world/categories")).json["items"]
    assert [each["name"] for each in listed] == ["Media", "Orgs", "Research"]


async def test_a_service_whose_notifier_is_elsewhere(door: Door) -> None:
    asked = {"categories": ["Media", "Media"], "notifier": "https://bbc.example/notify", "qualities": {"price": 2.5}}
    made = (await door("PUT", "/api/world/services/BBC", asked)).json
    assert (made["categories"], made["node"], made["qualities"]) == (["Media"], "", {"price": 2.5})
    of_orgs = (await door("GET", "/api/world/services?category=Orgs")).json["items"]
    assert [each["name"] for each in of_orgs] == ["BBC", "IDER", "TV", "USGS"]
    assert (await door("DELETE", "/api/world/services/BBC")).status == 204


async def test_a_service_with_a_notifier_here_keeps_its_place(door: Door) -> None:
    await door.keeper.change_world(NODE, [PutService(NOTIFIER)], "")
    door.keeper.running.append(Running(NOTIFIER, "its-subscription", 0, 0))
    changed = (await door("PUT", "/api/world/services/TV", {"categories": ["Research"]})).json
    assert (changed["categories"], changed["node"], changed["address"]) == (["Research"], BASE, NOTIFIER.address)
    checked(
        await door("PUT", "/api/world/services/TV", {"categories": ["Media"], "notifier": "http://x/"}), 409, "runs at"
    )
    checked(await door("DELETE", "/api/world/services/TV"), 409, "notifiers remove")
    elsewhere = Service("AP", ("Media",), notifier="http://gone.example/notifiers/AP", node="http://gone.example")
    await door.keeper.change_world(NODE, [PutService(elsewhere)], "")
    assert (await door("DELETE", "/api/world/services/AP")).status == 204


async def test_a_part_of_a_service_is_changed_while_its_notifier_runs(door: Door) -> None:
    await door.keeper.change_world(NODE, [PutService(NOTIFIER)], "")
    door.keeper.running.append(Running(NOTIFIER, "its-subscription", 0, 0))
    place = "/api/world/services/TV"
    given = {"qualities": {"price": 2, "speed": 1}, "policies": ["live"], "tells": {"Earthquake": "IDER"}, "by": "ann"}
    made = (await door("PATCH", place, given)).json
    assert (made["qualities"], made["policies"], made["tells"]) == (
        {"price": 2.0, "speed": 1.0},
        ["live"],
        {"Earthquake": "IDER"},
    )
    assert (made["node"], made["notifier"], made["address"]) == (BASE, NOTIFIER.notifier, NOTIFIER.address)
    assert (made["categories"], door.keeper.history[-1].by) == (list(NOTIFIER.categories), "ann")
    less = (await door("PATCH", place, {"qualities": {"price": None}, "tells": {"Earthquake": None}})).json
    assert less == made | {"qualities": {"speed": 1.0}, "tells": {}}
    version = door.keeper.kept.version
    assert (await door("PATCH", place, {"tells": {"Earthquake": None}})).json == less
    assert door.keeper.kept.version == version


@pytest.mark.parametrize(
    ("name", "said", "status", "why"),
    [
        ("Nobody", {}, 404, "no service 'Nobody'"),
        ("TV", {"tells": {"Erthquake": None}}, 404, "no topic 'Erthquake'"),
        ("TV", {"tells": {"Earthquake": "Nobody"}}, 409, "which is no other service"),
        ("TV", {"categories": []}, 409, "has no category"),
        ("TV", {"notifier": "http://x/"}, 400, "notifier"),
        ("TV", {"qualities": {"price": "much"}}, 400, "qualities"),
    ],
)
async def test_what_a_service_cannot_become(door: Door, name: str, said: object, status: int, why: str) -> None:
    version = door.keeper.kept.version
    checked(await door("PATCH", f"/api/world/services/{name}", said), status, why)
    assert door.keeper.kept.version == version


async def test_what_is_checked_is_the_world_that_is_changed(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its notifier comes while somebody writes to the service: what was there before counts for nothing."""
    version, change = door.keeper.kept.version, door.keeper.change_world

    async def after_another(caller: Caller, changes: Changes, by: str) -> int:
        await change(NODE, [PutService(NOTIFIER)], "node")
        return await change(caller, changes, by)

    monkeypatch.setattr(door.keeper, "change_world", after_another)
    changed = (await door("PUT", "/api/world/services/TV", {"categories": ["Research"]})).json
    assert (changed["categories"], changed["node"]) == (["Research"], BASE)
    late = await door("PUT", "/api/world/topics/late", {}, if_match=f'"{door.keeper.kept.version}"')
    assert late.status == 412 and "late" not in door.keeper.kept.topics and door.keeper.kept.version > version


async def test_an_edge_says_whether_it_counts_and_why(door: Door) -> None:
    given = (await door("PUT", "/api/world/edges", EDGE)).json
    assert given["counts"] and given["why"] == "it was given with the world, and no quorum of 3 disputes it"
    proposed = (await door("PUT", "/api/world/edges", OTHER | {"by": "ann", "note": "they asked"})).json
    assert not proposed["counts"] and "ann proposed it" in proposed["why"] and "2 more" in proposed["why"]
    assert (proposed["proposed_by"], proposed["note"], proposed["when"]) == (
        "ann",
        "they asked",
        "2001-09-09T01:46:40Z",
    )
    votes = [await vote(door, OTHER, by) for by in ("bob", "cleo")]
    assert [each["counts"] for each in votes] == [False, True]
    assert (votes[1]["agree"], votes[1]["disagree"], votes[1]["quorum"]) == (2, 0, 3)
    assert not (await vote(door, OTHER, "cleo", agrees=False))["counts"]
    await door("PUT", "/api/world/categories/Media", {"owner": "dora"})
    decided = await vote(door, OTHER, "dora", note="yes")
    assert decided["counts"] and decided["why"] == "dora, who owns Media, confirmed it"
    assert [each["by"] for each in decided["votes"]] == ["bob", "cleo", "dora"]
    kept = (await door("PUT", "/api/world/edges", OTHER | {"note": "new"})).json
    assert (kept["note"], len(kept["votes"]), kept["proposed_by"]) == ("new", 3, "ann")
    counting = (await door("GET", "/api/world/edges?counts=true&source=Media")).json["items"]
    assert [each["target"] for each in counting] == ["Research"]
    assert (await door("DELETE", f"/api/world/edges?{urlencode(OTHER)}")).status == 204
    assert (await door("GET", "/api/world/edges?source=Media")).json["items"] == []


async def test_a_learned_edge_tells_how_well_it_is_supported(door: Door) -> None:
    learned = (await door("PUT", "/api/world/edges", OTHER | {"support": 0.4, "confidence": 0.9, "lift": 2})).json
    assert (learned["support"], learned["confidence"], learned["counts"]) == (0.4, 0.9, False)
    assert "it was learned, and it waits for 3 more" in learned["why"]
    checked(await door("PUT", "/api/world/edges", OTHER | {"support": 1.4}), 400, "support")


async def test_an_edge_may_be_named_in_the_query(door: Door) -> None:
    assert (await door("PUT", f"/api/world/edges?{urlencode(OTHER)}")).json["source"] == "Media"


async def test_neighbours_and_the_edges_that_lead_to_them(door: Door) -> None:
    path = f"/api/world/neighbours?{urlencode({'service': 'IDER', 'topic': 'Disaster Info'})}"
    assert (await door("GET", path)).json["items"] == [
        {"name": "TV", "categories": ["Media"], "edges": ["Research -Disaster Info-> Media"]},
        {"name": "USGS", "categories": ["Research"], "edges": ["Research -Earthquake-> Research"]},
    ]
    narrow = "/api/world/neighbours?service=IDER&topic=Earthquake"
    assert [each["name"] for each in (await door("GET", narrow)).json["items"]] == ["USGS"]
    await door("PUT", "/api/world/rules", {"inherit_topics": True})
    assert [each["name"] for each in (await door("GET", narrow)).json["items"]] == ["TV", "USGS"]
    await door("PUT", "/api/world/rules", {"inherit_categories": True})
    await door("PUT", "/api/world/edges", {"source": "Orgs", "topic": "Earthquake", "target": "Media"})
    assert (await door("GET", narrow)).json["items"][0]["edges"] == ["Orgs -Earthquake-> Media"]


async def test_the_history_is_told_in_words(door: Door) -> None:
    start = door.keeper.kept.version
    await door("PUT", "/api/world/categories/Media", {"owner": "ann", "by": "desk"})
    await vote(door, EDGE, "bob", agrees=False, note="not any more")
    await door("PUT", "/api/world/rules", {"quorum": 2, "inherit_categories": True})
    told = (await door("GET", f"/api/world/history?after={start}")).json["items"]
    assert [(each["by"], each["said"]) for each in told] == [
        ("desk", "category Media under Orgs, owned by ann"),
        ("bob", "bob disputes Research -Disaster Info-> Media: not any more"),
        ("", "rules: a quorum of 2, categories inherited"),
    ]
    assert told[0]["change"]["type"] == "PutCategory" and told[0]["when"].endswith("Z")


@pytest.mark.parametrize("what", ["topics", "categories", "services", "edges", "history"])
async def test_long_lists_come_in_pages(what: str) -> None:
    changes: list[Change] = [PutTopic(f"t{number}") for number in range(7)]
    changes += [PutCategory(f"c{number}") for number in range(7)]
    changes += [PutService(Service(f"s{number}", ("c1",))) for number in range(7)]
    changes += [PutEdge(Edge(f"c{number}", "t1", "c2")) for number in range(7)]
    keeper = Keeper()
    await keeper.change_world(NODE, changes, "")
    found = [page async for page in pages(Door(keeper), f"/api/world/{what}", 3)]
    assert [len(page) for page in found][:-1] == [3] * (len(found) - 1)
    names = [str(each) for each in itertools.chain(*found)]
    assert len(set(names)) == len(names) == (28 if what == "history" else 7)


async def pages(door: Door, path: str, limit: int) -> Any:
    after: str | None = ""
    while after is not None:
        page = (await door("GET", f"{path}?{urlencode({'limit': limit} | ({'after': after} if after else {}))}")).json
        after = page["next"]
        yield page["items"]


async def vote(door: Door, edge: dict[str, str], by: str, *, agrees: bool = True, note: str = "") -> Any:
    body = edge | {"agrees": agrees, "by": by, "note": note}
    said = await door("POST", "/api/world/edges/votes", body)
    assert said.status == 200, said.body
    return said.json
