"""What nobody replied to is kept in few rows, and forgotten when it can be seen no more."""

from tocsin.model.identity import Instant
from tocsin.model.replies import ReplyRequest
from tocsin.routing.machine import Expire, Forget, Remember, Report
from tocsin.routing.reply.messages import Forwarded, Opened
from tocsin.routing.reply.register import Register, Registered, Written


def opened(view: str, until: int) -> Opened:
    return Opened(ReplyRequest(view, "text", Instant(until)), forwarded=(Forwarded(3, at=7),))


def test_many_are_one_row_and_are_there_again_after_a_crash() -> None:
    said = Registered((opened("a", 5), opened("b", 9)))
    effects = Register({}).step(said, Instant(0))
    assert effects == [Remember("a", said), Report(Written(("a", "b")))]
    assert [each.request.view for each in Register({"a": said}).opened()] == ["a", "b"]
    assert Register({}).step(Registered(()), Instant(0)) == []


def test_a_row_goes_with_the_last_of_its_views() -> None:
    register = Register({"a": Registered((opened("a", 5), opened("b", 9))), "c": Registered((opened("c", 20),))})
    assert register.step(Expire(Instant(9)), Instant(10)) == []
    assert register.step(Expire(Instant(10)), Instant(11)) == [Forget("a")]
    assert [each.request.view for each in register.opened()] == ["c"]
