import json
from pathlib import Path

from tests.cli.commands import tocsin

from tocsin.client.signatures import key_of


def test_secrets_from_a_file_from_input_and_made_here(broker: str, tmp_path: Path) -> None:
    at = ("--broker", broker)
    file = tmp_path / "value"
    file.write_text("user:hunter2\n")
    added = tocsin("secrets", "add", "one", "--kind", "basic", "--value-file", str(file), "--json", *at)
    assert json.loads(added.stdout)["kind"] == "basic" and "hunter2" not in added.stdout + added.stderr
    tocsin("secrets", "add", "two", "--kind", "bearer", "--for", "https://a.example", *at, text="hunter3\n")
    made = json.loads(tocsin("secrets", "add", "three", "--generate", "--json", *at).stdout)
    assert len(key_of(made["value"])) == 32
    listed = tocsin("secrets", "list", "--json", *at).stdout
    assert {each["name"]: (each["kind"], each["for"]) for each in json.loads(listed)["items"]} == {
        "one": ("basic", ""),
        "two": ("bearer", "https://a.example"),
        "three": ("hmac", ""),
    }
    assert "hunter" not in listed and made["value"] not in listed
    assert "three" in tocsin("secrets", "list", *at).stderr
    tocsin("secrets", "remove", "one", *at)
    again = tocsin("secrets", "remove", "one", *at, check=False)
    assert again.returncode == 1 and "there is no secret 'one'" in again.stderr


def test_what_is_wrong_is_told_in_a_sentence(broker: str, tmp_path: Path) -> None:
    at = ("--broker", broker)
    for words, text, said in [
        (("add", "x", "--kind", "hmac"), "pass word", "not base64"),
        (("add", "x", "--kind", "potato"), "v", "Invalid enum value"),
        (("add", "x", "--value-file", str(tmp_path / "gone")), "", "cannot be read"),
        (("add", "x", "--kind", "basic", "--generate"), "", "hmac only"),
    ]:
        ended = tocsin("secrets", *words, *at, check=False, text=text)
        assert ended.returncode != 0 and said in ended.stderr.replace("\n", " "), ended.stderr
        assert "Traceback" not in ended.stderr
