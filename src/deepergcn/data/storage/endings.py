"""How the names of files end that can be read: the one list, light enough for every command."""

from pathlib import Path

from deepergcn.errors import InputError

CSV_NAMES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
PARQUET_NAMES = (".parquet",)
SDF_NAMES = (".sdf", ".sdf.gz")
SMI_NAMES = (".smi", ".smi.gz")
EXCEL_NAMES = (".xlsx", ".xlsm")

TABLE_NAMES = CSV_NAMES + PARQUET_NAMES + EXCEL_NAMES
"""Tables of nodes and edges."""
MOLECULE_NAMES = TABLE_NAMES + SDF_NAMES + SMI_NAMES
"""Files of molecules."""

_OTHER_WORKBOOKS = (".xls", ".xlsb", ".ods")
_GRAPH_FILES = (".graphml", ".gexf", ".gml", ".net", ".edgelist", ".adjlist")


def check_name(path: Path, endings: tuple[str, ...]) -> None:
    """Check that the name of a file says how to read it."""
    name = path.name.lower()
    if name.endswith(endings):
        return
    if name.endswith(_OTHER_WORKBOOKS):
        raise InputError(f"{path}: is a workbook in another format; save it as .xlsx, or its sheet as CSV")
    if name.endswith(_GRAPH_FILES):
        raise InputError(
            f"{path}: is a graph file of another program; save its nodes and its edges as CSV, or read it with "
            "networkx and train from Python (deepergcn.train(graph=...))"
        )
    if name.endswith(".zip"):
        raise InputError(f"{path}: is an archive; unpack it first, or compress one file as .gz")
    raise InputError(f"{path}: expected a name that ends in {', '.join(endings)}")
