"""OGB's settings are those that the rest of the package goes by."""

from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.data.ogb.known import KNOWN


def test_molecule_categories_are_those_of_the_featuriser() -> None:
    for name in ("ogbg-molhiv", "ogbg-molpcba"):
        settings = KNOWN[name].settings
        assert settings.x_categories == ATOM_SIZES
        assert settings.edge_categories == BOND_SIZES


def test_the_datasets_of_the_paper_and_of_its_authors() -> None:
    tasks = {name: known.settings.task for name, known in KNOWN.items()}
    found = {name: (t.level, t.kind, t.outputs, t.metric) for name, t in tasks.items() if t is not None}
    assert found == {
        "ogbn-proteins": ("node", "multi-label", 112, "rocauc"),
        "ogbn-arxiv": ("node", "multi-class", 40, "accuracy"),
        "ogbg-ppa": ("graph", "multi-class", 37, "accuracy"),
        "ogbg-molhiv": ("graph", "binary", 1, "rocauc"),
        "ogbn-products": ("node", "multi-class", 47, "accuracy"),
        "ogbg-molpcba": ("graph", "multi-label", 128, "ap"),
        "ogbl-collab": ("link", "binary", 1, "hits@50"),
    }
    splits = [known.settings.split for known in KNOWN.values()]
    assert splits == ["species", "time", "species", "scaffold", "sales_ranking", "scaffold", "time"]
    assert [name for name, known in KNOWN.items() if not known.settings.symmetric] == ["ogbn-arxiv"]


def test_addresses_and_digests() -> None:
    for known in KNOWN.values():
        assert known.url.startswith("https://snap.stanford.edu/ogb/data/")
        assert known.url.endswith(".zip")
        assert all(len(bytes.fromhex(digest)) == 32 for digest in known.digests.values())
    assert {name for name, known in KNOWN.items() if known.digests} == {"ogbn-arxiv", "ogbg-molhiv"}
