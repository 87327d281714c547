"""What a consumer answers is read with bounds."""

from tocsin.wire._reading import LONGEST_HEAD, Reading


def test_headers_without_end_are_given_up() -> None:
    reading = Reading(1024)
    assert reading.feed(b"HTTP/1.1 202 Accepted\r\nX-Long: ") == ""
    said = ""
    for _ in range(LONGEST_HEAD // 1024 + 1):
        said = said or reading.feed(b"x" * 1024)
    assert "headers" in said


def test_headers_in_many_pieces_are_fine() -> None:
    reading = Reading(1024)
    for piece in b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".split(b" "):
        assert reading.feed(piece + (b" " if not piece.endswith(b"\n") else b"")) == ""
    assert reading.complete
    assert reading.status == 202
