import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.mediation import times
from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal

NOW = Instant(1_700_000_000 * SECOND)  # 2023-11-14T22:13:20Z


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT1S", 1),
        ("PT0.25S", 0.25),
        ("PT1M", 60),
        ("PT1H30M", 5400),
        ("P1D", 86_400),
        ("P1DT1S", 86_401),
        ("P1M", 30 * 86_400),
        ("P1Y", 365 * 86_400),
        ("P1Y2M3DT4H5M6.5S", (365 + 60 + 3) * 86_400 + 4 * 3600 + 5 * 60 + 6.5),
        ("PT0S", 0),
    ],
)
def test_xs_duration(text: str, seconds: float) -> None:
    assert times.duration(text) == seconds * SECOND


@pytest.mark.parametrize(
    "text", ["P", "PT", "P1", "PT1", "P1S", "1H", "-PT1H", "PT-1H", "P1DT", "PT.5S", "PT１S", "PT1H "]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(Refusal, match="is not a duration such as PT1H"):
        times.duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14T22:13:20", NOW),
        ("2023-11-15T00:13:20+02:00", NOW),
        ("2023-11-14T17:13:20-05:00", NOW),
        ("2023-11-14T22:13:20.5Z", NOW + SECOND // 2),
        ("2023-11-14T22:13:20.000000001Z", NOW + 1),
        ("2023-11-14T22:13:20.0000000019999Z", NOW + 1),
    ],
)
def test_xs_date_time(text: str, expected: int) -> None:
    assert times.instant(text) == expected


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2023-13-01T00:00:00Z", "2023-11-14", "2023-11-14T25:00:00Z", "12:00:00"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(Refusal, match="is neither a time such as"):
        times.instant(text)


@given(st.integers(0, 2**63 - 1))
def test_a_timestamp_is_read_as_the_same_instant(when: int) -> None:
    written = times.timestamp(Instant(when))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?Z", written)
    assert times.instant(written) == when


@given(st.integers(-(10**12), 2**62))
def test_dpws_a_granted_duration_has_no_days(nanoseconds: int) -> None:
    written = times.lasting(nanoseconds)
    assert re.fullmatch(r"PT(\d+H)?(\d+M)?\d+(\.\d+)?S", written)
    assert 0 <= max(nanoseconds, 0) - times.duration(written) < 1_000_000


@pytest.mark.parametrize("text", ["PT0S", "2023-11-14T22:13:20Z", "1999-01-01T00:00:00Z"])
def test_an_expiry_that_is_not_in_the_future_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="not in the future; it is 2023-11-14T22:13:20Z here"):
        times.expiry(text, NOW)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59Z", "P999999Y", "PT999999999999S"])
def test_an_expiry_beyond_what_the_log_can_write_is_the_last_instant(text: str) -> None:
    assert times.expiry(text, NOW) == times.LAST
    assert times.timestamp(times.LAST) == "2262-04-11T23:47:16.854775807Z"
