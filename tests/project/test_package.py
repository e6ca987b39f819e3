"""The names at the top of the package: all there, found when they are used, and none of them heavy before."""

import importlib
import subprocess
import sys

import pytest

import deepergcn
import deepergcn.data
import deepergcn.errors


def test_every_public_name_exists_and_is_listed() -> None:
    for module in (deepergcn, deepergcn.data, deepergcn.nn):
        assert set(module.__all__) <= set(dir(module))
        for name in module.__all__:
            assert getattr(module, name) is not None, name


def test_the_error_for_users_is_public() -> None:
    assert deepergcn.InputError is deepergcn.errors.InputError


@pytest.mark.parametrize("module", ["deepergcn", "deepergcn.data"])
def test_an_unknown_name_is_an_attribute_error(module: str) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        importlib.import_module(module).nonsense  # noqa: B018


def test_importing_the_package_is_light_and_reaches_all_of_it() -> None:
    code = (
        "import sys, deepergcn, deepergcn.data\n"
        "heavy = {'torch', 'numpy', 'numba', 'rdkit', 'pyarrow', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "import deepergcn.data.molecules.parse, deepergcn.data.storage.files\n"  # of processes that read and write
        "assert 'torch' not in sys.modules\n"
        "assert {'nn', 'data', 'train', 'InputError'} <= set(dir(deepergcn))\n"
        "deepergcn.nn.GENConv; deepergcn.ops.Adjacency; deepergcn.data.Dataset\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
