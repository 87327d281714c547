"""`tocsin tree`, asked of nodes in this process."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.inside import inside
from tests.whole.trees import heard, tree_node

pytestmark = pytest.mark.broker


async def tocsin(*arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(inside, "tree", *arguments, check=check)


async def test_an_operator_sees_the_tree_and_takes_a_node_out(tmp_path: Path) -> None:
    async with tree_node(tmp_path / "root") as root:
        at_root = ("--broker", root.base_url)
        assert "in no tree" in (await tocsin(*at_root)).stderr
        async with tree_node(tmp_path / "child", root) as child:
            await heard(child)
            shown = (await tocsin(*at_root)).stderr
            assert child.base_url in shown and "0 filters" in shown
            shown = (await tocsin("--broker", child.base_url)).stderr
            assert root.base_url in shown and "everything" in shown
            assert "this node asks its parent for 0 filters" in shown
            (found,) = json.loads((await tocsin("--json", *at_root)).stdout)["children"]
            assert found["node"] == child.base_url and found["since"] and found["asks"] == 0
        assert "taken out" in (await tocsin("remove", child.base_url, *at_root)).stderr
        again = await tocsin("remove", child.base_url, *at_root, check=False)
        assert again.returncode == 1 and "is no child of this node" in again.stderr


async def test_trouble_is_told(tmp_path: Path) -> None:
    async with tree_node(tmp_path / "root") as root:
        pass
    async with tree_node(tmp_path / "child", root.base_url) as child:
        shown = " ".join((await tocsin("--broker", child.base_url)).stderr.split())
        assert "not yet" in shown and "which the parent does not know yet" in shown
