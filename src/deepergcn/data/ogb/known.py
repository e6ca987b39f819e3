"""OGB datasets of the paper and of the authors' later work: addresses, digests, and how they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deepergcn.categories import ATOM_SIZES, BOND_SIZES
from deepergcn.data.task import Task

OGB = "https://snap.stanford.edu/ogb/data"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a folder in OGB's layout is read.

    Args:
        task: the task; by default inferred from the labels.
        symmetric: whether every stored edge stands for both directions.
        split: the folder in ``split/``, not needed if there is only one; or ``fold-k``, column k of ``folds/folds``.
        x_categories: the number of categories of each node feature, if these are categorical.
        edge_categories: the same for the edge features.
        label_names: the names of the outputs.
    """

    task: Task | None = None
    symmetric: bool = True
    split: str | None = None
    x_categories: tuple[int, ...] | None = None
    edge_categories: tuple[int, ...] | None = None
    label_names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Known:
    """A published dataset: ``url`` gives an archive of a ``folder`` whose files have these SHA-256 ``digests``."""

    name: str
    summary: str
    url: str
    settings: Settings
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The name of its folder, as OGB names it."""
        return self.name.replace("-", "_")


_ARXIV_DIGESTS = {
    "mapping/labelidx2arxivcategeory.csv.gz": "a516ecd32007acca5817296bdd82f5b5db7e21b0917b94311ef4571e29305577",
    "mapping/nodeidx2paperid.csv.gz": "3ad84bd49e905f457d1abb8d7586b52d9fa357efeb4a49f04ef2f2516817e2cf",
    "raw/edge.csv.gz": "47629e986116407d27eff4c9d2e923f06bf5da5c85cbae93b660f530bc9355df",
    "raw/node-feat.csv.gz": "60a844c7aff2f129335d34da2f6b9271bd1cac03aff8c70c229e6f0d13624718",
    "raw/node-label.csv.gz": "b06e7cf75d909de66ce49bc4188a6dc525224f85dd6dcb36137de3d9321830d1",
    "raw/node_year.csv.gz": "fb97e19d6003deb09197f6df6b10ea1ab86ee49d98885836c3c857ab58d897f3",
    "raw/num-edge-list.csv.gz": "430f1e00ae204bbb3208c5f494ab70170e9f2995fd3548d1754a74a8f59250d1",
    "raw/num-node-list.csv.gz": "9aa60a342efd209408933ace51e6b0a814e81c2894a993c44f9b173e477e2e82",
    "split/time/test.csv.gz": "588fb66ce57bcaef51ac0235f0a49a056370ac31fc27c8ebf556d3f5cdd02545",
    "split/time/train.csv.gz": "84983391900af45194e5db8d977ec9e01d4eda96e20328f3d7575fdd45c6797c",
    "split/time/valid.csv.gz": "ebe6cdcd77c75eedbce2064a05a49bc28e2c4a631f49d66b9e9ff317eef993eb",
}
_MOLHIV_DIGESTS = {
    "mapping/mol.csv.gz": "306c4ad8d54fc6cd40c71da4d0561fdcc73e1188662e6992bae0dda8f65bf6d0",
    "raw/edge-feat.csv.gz": "a59f5bcf890de811555f5d3819a96f713b4f8b6204801f286991c197afacf836",
    "raw/edge.csv.gz": "d279b2d408f553cdc6e8ff9712e8eb52ee8831e6f63d29431812e27bca119389",
    "raw/graph-label.csv.gz": "88f950d08c606556cca1c1ffef05229f46d64043ad7fa617e8938a3ae9779993",
    "raw/node-feat.csv.gz": "1e875d13c6442622d2b4f3763e7b0ef48cf2c769828b087ef0efe91c3bdb574b",
    "raw/num-edge-list.csv.gz": "fa058f23514328fd69bc9c4c31fd8f5938c4ce18726855489d0c0e2dfeaddd37",
    "raw/num-node-list.csv.gz": "e26f7e29de4a3985c7f47482838c62f870c90c4d01871c57bfeae1b8d993a24b",
    "split/scaffold/test.csv.gz": "27485729d83edd6f47eb3b8daff69fdb32c9df6b36b17204ef87f8dc1a30eab1",
    "split/scaffold/train.csv.gz": "9f1e46e77897b3de3d19452cbd47c312e2844a0ec664c1c9dc897c10d12e42f0",
    "split/scaffold/valid.csv.gz": "eaf4d6b4630f9e689d2b203669674d0dc309673319e8ac32daa9e9ca90e2e1fa",
}

KNOWN: dict[str, Known] = {
    known.name: known
    for known in (
        Known(
            name="ogbn-proteins",
            summary="132,534 proteins of 8 species, 39,561,252 associations, 112 functions",
            url=f"{OGB}/nodeproppred/proteins.zip",
            settings=Settings(task=Task("node", "multi-label", 112, "rocauc"), split="species"),
        ),
        Known(
            name="ogbn-arxiv",
            summary="169,343 papers, 1,166,243 citations, 40 subjects",
            url=f"{OGB}/nodeproppred/arxiv.zip",
            settings=Settings(task=Task("node", "multi-class", 40, "accuracy"), symmetric=False, split="time"),
            digests=_ARXIV_DIGESTS,
        ),
        Known(
            name="ogbg-ppa",
            summary="158,100 protein neighbourhoods of 37 groups of species",
            url=f"{OGB}/graphproppred/ogbg_ppi_medium.zip",
            settings=Settings(task=Task("graph", "multi-class", 37, "accuracy"), split="species"),
        ),
        Known(
            name="ogbg-molhiv",
            summary="41,127 molecules, screened against HIV",
            url=f"{OGB}/graphproppred/csv_mol_download/hiv.zip",
            settings=Settings(
                task=Task("graph", "binary", 1, "rocauc"),
                split="scaffold",
                x_categories=ATOM_SIZES,
                edge_categories=BOND_SIZES,
            ),
            digests=_MOLHIV_DIGESTS,
        ),
        Known(
            name="ogbn-products",
            summary="2,449,029 products, 61,859,140 pairs bought together, 47 categories",
            url=f"{OGB}/nodeproppred/products.zip",
            settings=Settings(task=Task("node", "multi-class", 47, "accuracy"), split="sales_ranking"),
        ),
        Known(
            name="ogbg-molpcba",
            summary="437,929 molecules in 128 assays",
            url=f"{OGB}/graphproppred/csv_mol_download/pcba.zip",
            settings=Settings(
                task=Task("graph", "multi-label", 128, "ap"),
                split="scaffold",
                x_categories=ATOM_SIZES,
                edge_categories=BOND_SIZES,
            ),
        ),
        Known(
            name="ogbl-collab",
            summary="235,868 authors, 1,285,465 collaborations by year; who will work together next",
            url=f"{OGB}/linkproppred/collab.zip",
            settings=Settings(task=Task("link", "binary", 1, "hits@50"), split="time"),
        ),
    )
}
