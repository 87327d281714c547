"""Tokens: readable, and nobody's but the receiver's."""

from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.identity import Instant
from tocsin.model.replies import ReplyRequest, is_proven, read_token, token_of

REQUEST = ReplyRequest("0a1b", "boolean", Instant(5), "secret")


@given(st.text(min_size=1, max_size=60))
def test_a_token_names_its_view_and_receiver_and_is_proven(receiver: str) -> None:
    text = token_of(REQUEST, receiver)
    assert text.isascii() and "/" not in text and "%" not in text
    token = read_token(text)
    assert token is not None and (token.view, token.receiver) == ("0a1b", receiver)
    assert is_proven(token, "secret") and not is_proven(token, "another")
    assert not is_proven(token._replace(receiver=receiver + "x"), "secret")


@given(st.text(max_size=60))
def test_anything_else_is_no_token(text: str) -> None:
    token = read_token(text)
    assert token is None or not is_proven(token, "secret")
