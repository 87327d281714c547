"""Descriptions in RDF, whatever form they come in."""

import pytest
from tests.pace import within

from tocsin.model.refusal import Refusal
from tocsin.semantics.rdf import n_triples

BASE = "http://producer.example/here"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TURTLE = b"@prefix e: <urn:e#> . <> a e:Hospital ; e:beds 12 ."
BEDS = '"12"^^<http://www.w3.org/2001/XMLSchema#integer>'
LINES = f"<{BASE}> <urn:e#beds> {BEDS} .\n<{BASE}> <{RDF}type> <urn:e#Hospital> .\n"
RDF_XML = f"""<r:RDF xmlns:r="{RDF}" xmlns:e="urn:e#"><e:Hospital r:about="">
  <e:beds r:datatype="http://www.w3.org/2001/XMLSchema#integer">12</e:beds></e:Hospital></r:RDF>""".encode()
DECLARED = b'<?xml version="1.0"?>\n' + RDF_XML
MARKED = b"\xef\xbb\xbf" + RDF_XML


@pytest.mark.parametrize("data", [TURTLE, LINES.encode(), RDF_XML, DECLARED, MARKED])
def test_each_form_says_the_same(data: bytes) -> None:
    assert sorted(n_triples(data, BASE).splitlines()) == sorted(LINES.encode().splitlines())


def test_nodes_without_a_name_are_numbered_as_they_come() -> None:
    said = b"<urn:a> <urn:b> [ <urn:c> [] ] . <urn:a> <urn:b> _:other . <urn:a> <urn:b> _:other ."
    found = n_triples(said, BASE)
    assert found == n_triples(said, BASE)
    assert found.count(b"\n") == 3 and b"_:n0" in found and b"_:n2" in found and b"other" not in found


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"nothing at all", "Turtle"),
        (b"<urn:a> <urn:b>", "Turtle"),
        (b"\xff\xfe", "Turtle"),
        (b'<!DOCTYPE x [<!ENTITY e "e">]><r:RDF xmlns:r="urn:r">&e;</r:RDF>', "RDF/XML: a DOCTYPE is not allowed"),
        (b"<?xml version='1.0'?><r:RDF", "RDF/XML"),
        (b"<< " * 200, "quoted"),
    ],
)
def test_what_is_no_rdf_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(Refusal, match=said) as refusal:
        n_triples(data, BASE)
    assert refusal.value.reason == "malformed"


def test_an_iri_that_looks_like_an_element_is_none() -> None:
    assert n_triples(b"<urn:RDF> <urn:p> <urn:o> .", BASE) == b"<urn:RDF> <urn:p> <urn:o> .\n"


LONG = b"@prefix p: <urn:" + b"x" * 20_000 + b"> . <> p:a "
MANY = LONG + b",".join(b"p:%d" % each for each in range(1_500)) + b" ."
LISTS = b"<> <urn:p> " + b"(" * 120_000 + b")" * 120_000 + b" ."


@pytest.mark.parametrize("data", [MANY, LONG + b"p:,p:" * 1_000])
def test_what_becomes_too_much_is_refused_as_it_does(data: bytes) -> None:
    with within(500), pytest.raises(Refusal, match="262,144 bytes, written as N-Triples") as refusal:
        n_triples(data, BASE)
    assert refusal.value.reason == "too-large"


@pytest.mark.parametrize(
    "before",
    [b"", b'<> <urn:p\\u0041#> "#((" . # (\n', b"@prefix p: <urn:p> . <> p:\\#\\' '''\\'''(''' . "],
)
def test_nesting_is_refused_before_it_is_read(before: bytes) -> None:
    with within(500), pytest.raises(Refusal, match="nested more than 64 deep"):
        n_triples(before + LISTS, BASE)


def test_brackets_in_texts_are_no_nesting() -> None:
    many = b"(" * 100
    quiet = b'<> <urn:p#(> \':%s\', """%s\n""" . # %s\n' % (many, many, many)
    found = n_triples(quiet + b"<> <urn:q> " + b"(" * 64 + b"1" + b")" * 64 + b" .", BASE)
    assert found.count(many) == 2


@pytest.mark.parametrize("part", [b'\\"""x\n', b"\\'", b'"\n', b"<", b"'''\\", b'"\\'])
@pytest.mark.parametrize("begin", [b"", b'"""'])
def test_what_never_ends_takes_no_time(begin: bytes, part: bytes) -> None:
    with within(500), pytest.raises(Refusal):
        n_triples(begin + part * (200_000 // len(part)), BASE)
