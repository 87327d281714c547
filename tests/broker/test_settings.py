from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.broker.quantities import duration, duration_text, size, size_text
from tocsin.broker.settings import (
    BY_FLAG,
    BY_VARIABLE,
    FILE,
    KINDS,
    File,
    SettingsError,
    load,
    load_here,
    rows,
    value_of,
)


def toml(text: str) -> File:
    return File(FILE, text)


def problems(flags: dict[str, str], env: dict[str, str], text: str = "") -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load(flags, env, toml(text))
    return caught.value.problems


def test_the_defaults_stand_alone() -> None:
    settings = load({}, {})
    assert settings.listen.host == "127.0.0.1"
    assert settings.listen.port == 8080
    assert settings.data == Path("data")
    assert settings.engine == "spark"
    assert settings.advertise is None
    assert settings.limits.body_bytes == 1024 * 1024
    assert settings.delivery.attempts == 5
    assert set(settings.origins) == set(KINDS)
    assert set(settings.origins.values()) == {"default"}


def test_what_is_printed_can_be_given_again() -> None:
    defaults = load({}, {})
    written = {name: text for name, text, _ in rows(defaults)}
    again = load({flag: written[name] for flag, name in BY_FLAG.items()}, {})
    assert {name: value_of(again, name) for name in KINDS} == {name: value_of(defaults, name) for name in KINDS}


def test_flags_beat_environment_beat_file_beat_defaults() -> None:
    text = "[listen]\nport = 1\nhost = '::1'\n[delivery]\nattempts = 2\nqueue = 3"
    env = {"TOCSIN_LISTEN_PORT": "4", "TOCSIN_DELIVERY_ATTEMPTS": "6"}
    settings = load({"port": "7"}, env, toml(text))
    assert (settings.listen.port, settings.origins["listen.port"]) == (7, "--port")
    assert (settings.delivery.attempts, settings.origins["delivery.attempts"]) == (6, "TOCSIN_DELIVERY_ATTEMPTS")
    assert (settings.delivery.queue, settings.origins["delivery.queue"]) == (3, "tocsin.toml")
    assert (settings.listen.host, settings.origins["listen.host"]) == ("::1", "tocsin.toml")
    assert (settings.delivery.timeout, settings.origins["delivery.timeout"]) == (30.0, "default")


def test_every_setting_has_a_flag_a_variable_and_a_place_in_the_file() -> None:
    for name, text, _ in rows(load({}, {})):
        section, _, key = name.rpartition(".")
        file = toml((f"[{section}]\n" if section else "") + f'{key} = "{text}"')
        assert load({}, {}, file).origins[name] == FILE
        flag = next(flag for flag, setting in BY_FLAG.items() if setting == name)
        assert load({flag: text}, {}).origins[name] == f"--{flag}"
        variable = f"TOCSIN_{name.replace('.', '_').upper()}"
        assert load({}, {variable: text}).origins[name] == variable


def test_durations_and_sizes_have_units() -> None:
    text = '[limits]\ndefault_lease = "5m"\nbody_bytes = "2MiB"\n[delivery]\nfirst_backoff = "250ms"'
    settings = load({"log-segment-bytes": "1 GiB"}, {"TOCSIN_LIMITS_LONGEST_LEASE": "1h30m"}, toml(text))
    assert settings.limits.default_lease == 300.0
    assert settings.limits.longest_lease == 5400.0
    assert settings.limits.body_bytes == 2 * 1024 * 1024
    assert settings.log.segment_bytes == 1024**3
    assert settings.delivery.first_backoff == 0.25


def test_what_may_be_absent_is_none() -> None:
    settings = load({"log-retain-bytes": "none"}, {"TOCSIN_LOG_RETAIN_AGE": "none"}, toml('advertise = "none"'))
    assert (settings.log.retain_bytes, settings.log.retain_age, settings.advertise) == (None, None, None)


def test_listen_is_host_and_port_at_once() -> None:
    settings = load({"listen": "[::1]:9000"}, {"TOCSIN_LISTEN": "0.0.0.0:80"})
    assert (settings.listen.host, settings.listen.port) == ("::1", 9000)
    assert settings.origins["listen.host"] == settings.origins["listen.port"] == "--listen"
    assert load({}, {"TOCSIN_LISTEN": "0.0.0.0:80"}).listen.host == "0.0.0.0"
    assert problems({"listen": "9000"}, {}) == ("listen.host = '' (from --listen): expected a host name or address",)


def test_the_short_variable_and_an_empty_one() -> None:
    assert load({}, {"TOCSIN_PORT": "9", "TOCSIN_DATA": ""}).listen.port == 9
    assert load({}, {"TOCSIN_DATA": ""}).origins["data"] == "default"


def test_variables_of_others_are_left_alone() -> None:
    links = {
        "TOCSIN_PORT": "tcp://10.0.0.1:80",
        "TOCSIN_PORT_80_TCP_ADDR": "10.0.0.1",
        "TOCSIN_SERVICE_HOST": "10.0.0.1",
    }
    assert set(load({}, {"PATH": "/bin", **links}).origins.values()) == {"default"}


@pytest.mark.parametrize(
    ("flags", "env", "text", "said"),
    [
        (
            {"port": "80x"},
            {},
            "",
            "listen.port = '80x' (from --port): expected a whole number from 0 to 65535",
        ),
        (
            {},
            {},
            "[listen]\nport = true",
            "listen.port = True (from tocsin.toml): expected a whole number from 0 to 65535",
        ),
        (
            {},
            {},
            "[listen]\nport = 70000",
            "listen.port = 70000 (from tocsin.toml): expected a whole number from 0 to 65535",
        ),
        (
            {},
            {"TOCSIN_DELIVERY_TIMEOUT": "30"},
            "",
            "delivery.timeout = '30' (from TOCSIN_DELIVERY_TIMEOUT): "
            "expected a duration such as 250ms, 30s, 5m, 1h or 7d",
        ),
        (
            {},
            {},
            "[limits]\nbody_bytes = '1 potato'",
            "limits.body_bytes = '1 potato' (from tocsin.toml): expected a size such as 512KiB, 1MiB or 2GiB",
        ),
        ({}, {"TOCSIN_ENGINE": "flink"}, "", "engine = 'flink' (from TOCSIN_ENGINE): expected spark or embedded"),
        (
            {"advertise": "broker:8080"},
            {},
            "",
            "advertise = 'broker:8080' (from --advertise): "
            "expected an address such as http://broker.example:8080, or none",
        ),
        (
            {"delivery-queue": "0"},
            {},
            "",
            "delivery.queue = '0' (from --delivery-queue): expected a whole number from 1 up",
        ),
        ({}, {}, "data = []", "data = [] (from tocsin.toml): expected a folder"),
    ],
)
def test_a_bad_value_names_setting_source_and_what_is_expected(
    flags: dict[str, str], env: dict[str, str], text: str, said: str
) -> None:
    assert problems(flags, env, text) == (said,)


@pytest.mark.parametrize(
    ("flags", "env", "text", "said"),
    [
        ({"prt": "1"}, {}, "", "prt is not a setting; did you mean port?"),
        (
            {},
            {"TOCSIN_DELIVERY_ATEMPTS": "1"},
            "",
            "TOCSIN_DELIVERY_ATEMPTS is not a setting; did you mean TOCSIN_DELIVERY_ATTEMPTS?",
        ),
        (
            {},
            {},
            "[delivery]\natempts = 1",
            "tocsin.toml: delivery.atempts is not a setting; did you mean delivery.attempts?",
        ),
        ({}, {}, "[zzz]", "tocsin.toml: zzz is not a setting"),
        ({}, {}, "listen = 5", "tocsin.toml: listen is not a setting; did you mean listen.port?"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(
    flags: dict[str, str], env: dict[str, str], text: str, said: str
) -> None:
    assert problems(flags, env, text) == (said,)


def test_every_problem_is_told_at_once() -> None:
    said = problems({"port": "x"}, {"TOCSIN_ENGINE": "x"}, "nonsense = 1")
    assert len(said) == 3
    assert str(SettingsError(said)).count("\n") == 2


def test_a_value_that_is_beaten_is_not_looked_at() -> None:
    assert load({"port": "1"}, {"TOCSIN_LISTEN_PORT": "nonsense"}).listen.port == 1


def test_contradictions_name_both_sides() -> None:
    assert problems({"limits-default-lease": "2d"}, {}) == (
        "limits.default_lease = 2d (from --limits-default-lease) is longer than "
        "limits.longest_lease = 1d (from default)",
    )
    assert problems({"delivery-first-backoff": "2m"}, {}) == (
        "delivery.first_backoff = 2m (from --delivery-first-backoff) is longer than "
        "delivery.longest_backoff = 1m (from default)",
    )


def test_a_file_that_is_not_toml_is_named() -> None:
    (said,) = problems({}, {}, "port = = 1")
    assert said.startswith("tocsin.toml: not TOML: ")


def test_a_base_url_loses_its_last_slash() -> None:
    assert load({"advertise": "https://broker.example/"}, {}).advertise == "https://broker.example"


@pytest.mark.parametrize(
    "bad",
    [
        "ftp://a",
        "http://",
        "http://u:p@a",
        "http://a?q",
        "http://a#f",
        "http://a:99999",
        "http://a b",
        "http://[::1",
        "",
    ],
)
def test_what_is_no_base_url(bad: str) -> None:
    assert problems({"advertise": bad}, {})


def test_the_file_of_the_folder_is_read_when_there_is_one(tmp_path: Path) -> None:
    assert load_here({}, {}, tmp_path).listen.port == 8080
    (tmp_path / FILE).write_text("[listen]\nport = 9")
    settings = load_here({}, {}, tmp_path)
    assert (settings.listen.port, settings.origins["listen.port"]) == (9, FILE)


def test_a_named_file_comes_first_and_must_exist(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[listen]\nport = 1")
    (tmp_path / "by-variable.toml").write_text("[listen]\nport = 2")
    (tmp_path / "by-flag.toml").write_text("[listen]\nport = 3")
    env = {"TOCSIN_CONFIG": "by-variable.toml"}
    assert load_here({}, env, tmp_path).listen.port == 2
    settings = load_here({"config": "by-flag.toml"}, env, tmp_path)
    assert (settings.listen.port, settings.origins["listen.port"]) == (3, "by-flag.toml")
    with pytest.raises(SettingsError, match=r"gone\.toml: cannot be read"):
        load_here({"config": "gone.toml"}, {}, tmp_path)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"data = '\xff'")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_here({}, {}, tmp_path)


@given(st.integers(1, 10**12))
def test_a_duration_survives_being_written(milliseconds: int) -> None:
    assert duration(duration_text(milliseconds / 1000)) == pytest.approx(milliseconds / 1000, rel=1e-12)


@given(st.integers(0, 1 << 52))
def test_a_size_survives_being_written(number: int) -> None:
    assert size(size_text(number)) == number


@pytest.mark.parametrize("bad", ["", "s", "5", "-5s", "5 s", "5y", "1e3s", "5s5", "1..5s", "9" * 400 + "d"])
def test_what_is_no_duration(bad: str) -> None:
    with pytest.raises(ValueError):
        duration(bad)


@pytest.mark.parametrize("bad", ["", "MiB", "-1MiB", "1XiB", "1MiB1", "9" * 400])
def test_what_is_no_size(bad: str) -> None:
    with pytest.raises(ValueError):
        size(bad)


@pytest.mark.parametrize(
    ("text", "seconds"), [("250ms", 0.25), ("30s", 30), ("5m", 300), ("1h", 3600), ("1h 30m", 5400), ("7d", 604800)]
)
def test_how_durations_are_written(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("1kB", 1000), ("1 MiB", 1 << 20), ("1.5gib", 3 << 29)])
def test_how_sizes_are_written(text: str, number: int) -> None:
    assert size(text) == number


def test_short_variables_are_as_short_flags() -> None:
    assert BY_VARIABLE["TOCSIN_PORT"] == BY_FLAG["port"] == "listen.port"


def test_options_with_secrets_are_told_without_them() -> None:
    given = {"pipeline-tables-options": "AWS_REGION=eu, AWS_SECRET_ACCESS_KEY=hush"}
    settings = load(given, {})
    assert settings.pipeline.tables_options == (("AWS_REGION", "eu"), ("AWS_SECRET_ACCESS_KEY", "hush"))
    shown = {name: value for name, value, _ in rows(settings)}
    assert shown["pipeline.tables_options"] == "AWS_REGION=eu,AWS_SECRET_ACCESS_KEY=***"
    with pytest.raises(SettingsError, match="expected KEY=VALUE") as raised:
        load({"pipeline-tables-options": "hush"}, {})
    assert "hush" not in str(raised.value)


def test_a_node_of_a_tree_needs_the_key_and_a_log_of_its_own() -> None:
    above = {"parent": "http://127.0.0.1:8080"}
    with pytest.raises(SettingsError, match=r"needs implicit\.key_file"):
        load(above, {})
    given = above | {"implicit-key-file": "tree.key"}
    assert load(given, {}).tree.parent == "http://127.0.0.1:8080"
    with pytest.raises(SettingsError, match="needs a log of its own"):
        load(given | {"log-shared": "kafka://127.0.0.1:9092/x"}, {})
