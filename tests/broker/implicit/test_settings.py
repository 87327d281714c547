"""Who shares a world with others needs a key that they have too."""

import pytest

from tocsin.broker.settings import SettingsError, load


@pytest.mark.parametrize("setting", ["registry", "history"])
def test_another_node_is_named_with_a_key_only(setting: str) -> None:
    named = {f"implicit-{setting}": "http://world.example:8080"}
    with pytest.raises(SettingsError, match=rf"implicit\.{setting} .* needs implicit\.key_file"):
        load(named, {})
    assert load(named | {"implicit-key-file": "world.key"}, {}).implicit.limit == 16
