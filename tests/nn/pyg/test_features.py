"""Every row of the table of PyG's features holds, and the table that users read is the one that is tested."""

from pathlib import Path

import pytest

from tests.nn.pyg import features_of_layers, features_of_torch  # noqa: F401
from tests.nn.pyg.features import FEATURES, Feature, render

TABLE = Path(__file__).parents[3] / "docs" / "pyg-features.md"


@pytest.mark.filterwarnings(
    "ignore:Sparse CSR tensor support is in beta",
    "ignore:`torch.jit.*is deprecated:DeprecationWarning",
    "ignore:.*torch.jit.*:torch.jit.TracerWarning",
    "ignore:Converting a tensor to a Python:torch.jit.TracerWarning",
    "ignore:# The axis name. edges will not be used:UserWarning",
    "ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning",
)
@pytest.mark.parametrize("row", FEATURES, ids=lambda row: row.name)
def test_feature(row: Feature) -> None:
    row.check()


def test_the_table_is_current() -> None:
    assert len(FEATURES) >= 40
    assert len({row.name for row in FEATURES}) == len(FEATURES)
    assert TABLE.read_text() == render(), "run make docs"
