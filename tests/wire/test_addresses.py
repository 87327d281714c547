from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.wire.addresses import AddressGuard, BadAddress, origin, place, unwrap

OUTSIDE = AddressGuard(loopback_allowed=False, own=[("tocsin.example", 8080), ("10.0.0.5", 8080)])
INSIDE = AddressGuard(loopback_allowed=True, own=[("127.0.0.1", 8080)])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.org/", "http:// or https://"),
        ("example.org/in", "http:// or https://"),
        ("mailto:someone", "http:// or https://"),
        ("http:///in", "no host"),
        ("http://:80/in", "no host"),
        ("http://user@example.org/", "user name"),
        ("http://user:secret@example.org/", "user name"),
        ("http://example.org:99999/", "cannot be read"),
        ("http://example.org:0/", "port 0"),
        ("http://[::1/", "cannot be read"),
        ("http://example.org\\@127.0.0.1/", "backslash"),
        ("http://example.org/a b", "space"),
        ("http://example.org/\r\nX: y", "control"),
        ("http://exämple.org/", "ASCII"),
        ("http://tocsin.example:8080/in", "own address"),
        ("http://TOCSIN.example:8080/in", "own address"),
        ("http://10.0.0.5:8080/in", "own address"),
    ],
)
def test_an_address_with_a_bad_form_is_refused_with_a_sentence(url: str, said: str) -> None:
    with pytest.raises(BadAddress, match=said):
        OUTSIDE.check(url)


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.9.10", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("64:ff9b::127.0.0.1", "loopback"),
        ("64:ff9b:1::127.0.0.1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("169.254.169.254", "link-local"),
        ("fe80::1", "link-local"),
        ("64:ff9b::169.254.169.254", "link-local"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("::7f00:1", "reserved"),
    ],
)
def test_an_address_nothing_is_sent_to(host: str, kind: str) -> None:
    with pytest.raises(BadAddress, match=kind):
        OUTSIDE.permit(host, 80)
    with pytest.raises(BadAddress, match=kind):
        OUTSIDE.check(f"http://[{host}]/" if ":" in host else f"http://{host}/")


@pytest.mark.parametrize("host", ["10.1.2.3", "192.168.1.1", "93.184.216.34", "2606:2800:220:1::1", "fd00::1"])
def test_an_address_that_may_be_connected_to(host: str) -> None:
    OUTSIDE.permit(host, 80)


def test_loopback_only_where_it_is_allowed_and_never_this_broker() -> None:
    INSIDE.check("http://127.0.0.1:9000/in")
    INSIDE.check("http://[::1]:9000/in")
    INSIDE.check("http://localhost:8080/in")
    for address in ("127.0.0.1", "::ffff:127.0.0.1"):
        with pytest.raises(BadAddress, match="own address"):
            INSIDE.permit(address, 8080)
    with pytest.raises(BadAddress, match="link-local"):
        INSIDE.check("http://169.254.169.254/")


@given(st.integers(0, 2**32 - 1))
def test_every_wrapping_of_an_ipv4_address_is_taken_off(number: int) -> None:
    address = IPv4Address(number)
    wrapped = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
    ]
    assert [unwrap(one) for one in wrapped] == [address] * 3


@given(st.integers(0, 2**128 - 1))
def test_what_is_let_through_is_none_of_the_forbidden(number: int) -> None:
    address = unwrap(IPv6Address(number))
    try:
        OUTSIDE.permit(str(IPv6Address(number)), 80)
    except BadAddress:
        return
    assert not (address.is_loopback or address.is_multicast or address.is_link_local or address.is_unspecified)


def test_the_parts_of_an_address() -> None:
    assert place("http://Example.org/a") == ("example.org", 80)
    assert place("HTTPS://example.org") == ("example.org", 443)
    assert place("http://[::1]:81/") == ("::1", 81)
    assert ip_address("::1").is_loopback


def test_one_origin_for_each_scheme_host_and_port() -> None:
    assert origin("http://Example.org/a") == origin("HTTP://example.org:80/b?c") == "http://example.org:80"
    assert origin("https://example.org/a") != origin("http://example.org/a")
    assert origin("nonsense") == "nonsense"


def test_who_listens_on_all_addresses_is_reached_by_each_of_this_machine() -> None:
    guard = AddressGuard(loopback_allowed=True, own=[("0.0.0.0", 8080)])
    with pytest.raises(BadAddress, match="own address"):
        guard.check("http://127.0.0.2:8080/")
    guard.check("http://127.0.0.2:8081/")
    guard.check("http://192.0.2.1:8080/")
    AddressGuard(loopback_allowed=True, own=[("127.0.0.1", 8080)]).check("http://127.0.0.2:8080/")


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.1.", "a.1", "0x"])
def test_numbers_that_libc_takes_for_addresses_are_refused(host: str) -> None:
    with pytest.raises(BadAddress, match="is a number"):
        place(f"http://{host}/")


@pytest.mark.parametrize("host", ["1.example", "a1.0x1.example", "127.0.0.1", "1a", "0xyz"])
def test_names_may_have_digits(host: str) -> None:
    assert place(f"http://{host}/") == (host, 80)


def test_a_zone_is_refused_and_a_last_dot_is_the_same_name() -> None:
    guard = AddressGuard(loopback_allowed=True, own=[("broker.example", 80)])
    with pytest.raises(BadAddress, match="zone"):
        guard.check("http://[fe80::1%25eth0]/")
    with pytest.raises(BadAddress, match="own address"):
        guard.check("http://BROKER.example./")
