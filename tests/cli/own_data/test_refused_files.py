"""Files, columns and options that are refused before training, in one line that says what to do: one file a case."""

import gzip
from pathlib import Path

import pytest

from deepergcn.errors import InputError
from tests.cli.own_data.own_files import EDGES, active, graph, mine, molecules, nodes, number, read, refused, size

REFUSED = {
    "two columns of SMILES": mine(
        molecules(active, header="SMILES,y,smiles", smiles=lambda i: "C"),
        "has the columns 'SMILES', 'smiles'; expected one such column, or --smiles-column",
    ),
    "SMILES by another name": mine(
        molecules(active).replace("smiles", "Structure"),
        "there is no column 'smiles' for the SMILES",
        "name another with --smiles-column",
    ),
    "a title above the header": mine(
        "Exported today\n" + molecules(active), "row 1 has 2 columns; expected 1, as in the header 'Exported today'"
    ),
    "Windows-1252": mine(
        molecules(number).replace("y", "IC50 (µM)", 1).encode("cp1252"),
        "the header has the byte 0xb5, which is not UTF-8; save the file as CSV UTF-8",
    ),
    "UTF-16": mine(molecules(active).encode("utf-16"), "is text in UTF-16; save it as CSV UTF-8"),
    "gzip by another name": mine(
        gzip.compress(b"smiles,y\n", mtime=0), "is compressed with gzip; rename it to end in .gz"
    ),
    "a workbook by another name": mine(b"PK\x03\x04", "is a workbook or an archive; rename a workbook to end in .xlsx"),
    "an archive": mine(b"PK\x03\x04", "is an archive; unpack it first", name="mine.csv.zip"),
    "GraphML": mine("<graphml/>", "read it with networkx and train from Python", name="mine.graphml"),
    "comments above the edges": graph(
        nodes(size=size),
        "row 1 has 2 columns; expected 1, as in the header '# made by me'",
        edges="# made by me\n" + EDGES,
    ),
    "comments of one column": graph(
        nodes(size=size),
        "the first line must be the header: remove the lines before it that begin with '#'",
        edges="# made by me\n# 60 edges\n",
    ),
    "a line of Excel": mine(
        "sep=;\n" + molecules(active, between=";"), "remove the lines before it that begin with 'sep='"
    ),
    "a property of two values": mine(
        "m\n\n\n  0  0\nM  END\n> <y>\n1\n\n> <y>\n2\n\n$$$$\n",
        "record 1 has the property 'y' twice, '1' and '2'",
        name="mine.sdf",
    ),
    "a table by the name of SMILES": mine("smiles\tid\ty\nC\t1\t1\n", "rename it to end in .tsv", name="mine.smi"),
    "directed edges of Gephi": graph(
        nodes(size=size),
        "edges are directed, according to the column 'Type'; run with --directed",
        edges="Source,Target,Type\nn1,n2,Directed\n",
    ),
    "edges without a header": graph(
        nodes(size=size),
        "there is no column 'source' for the edges; the columns are 'n0', 'n1'; name another with --source-column or",
        edges=EDGES.partition("\n")[2],
    ),
    "ids with .0": graph(
        nodes(size=size), "row 1: source 'n0.0' is not the id of a node", edges="source,target\nn0.0,n1.0\n"
    ),
    "ids with zeros before them": graph(
        "id,y,size\n" + "".join(f"{i:03d},{'ab'[i % 2]},{i}\n" for i in range(60)),
        "source '7' is not the id of a node",
        "(as in 2 rows); did you mean '007'?",
        edges="source,target\n7,008\n9,010\n",
    ),
    "commas in a file for tabs": mine(
        molecules(active),
        "the columns are 'smiles,y', with a tab as the delimiter; name another with --delimiter",
        name="mine.tsv",
    ),
    "an unusual delimiter": mine(
        molecules(active, between="|"),
        "the columns are 'smiles|y', with a comma as the delimiter; name another with --delimiter",
    ),
    "a comma in a header between semicolons": mine(
        molecules(active, header="smiles,y,a", between=";", a=number).replace(";a\n", ";mass, g\n"),
        "row 1 has 1 columns; expected 2, as in the header 'smiles;y;mass, g'; name the delimiter with --delimiter",
    ),
    "no such target": mine(
        molecules(active),
        "there is no column 'activity' for the labels; the columns are 'smiles', 'y'",
        target=["activity"],
    ),
    "no target": mine(molecules(active), "--molecules: expected --target", target=None),
    "a workbook": mine(b"PK\x03\x04", "it is not an .xlsx workbook, or it is damaged", name="mine.xlsx"),
    "an unknown ending": mine(
        "x",
        "expected a name that ends in .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .xlsx, .xlsm, .sdf",
        name="mine.mol2",
    ),
    "a delimiter that is none": mine(
        molecules(active), "expected comma, semicolon, tab or another single character", delimiter="ab"
    ),
    "no column of sources": graph(
        nodes(size=size), "there is no column 'source' for the edges", edges=EDGES.replace("source", "from")
    ),
    "an edge to nowhere": graph(
        nodes(size=size), "row 1: target 'zz' is not the id of a node", edges="source,target\nn0,zz\n"
    ),
    "no such feature": graph(nodes(size=size), "there is no column 'weight' for the features", features=["weight"]),
    "a learned embedding beside features": graph(
        nodes(size=size), "--encoding learned: the nodes of nodes.csv have features", encoding="learned"
    ),
    "an option of tables": mine(molecules(active), "--features: cannot be combined with --molecules", features=["y"]),
    "an option of molecules": graph(
        nodes(size=size), "--fragments: cannot be combined with --nodes", fragments="largest"
    ),
    "fragments that are none": mine(
        molecules(active), "--fragments is 'some'; expected all or largest", fragments="some"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    refused(REFUSED[name], tmp_path)


def test_options_of_the_reader_as_settings(tmp_path: Path) -> None:
    renamed = graph(nodes(size=size), edges=EDGES.replace("source", "from"))
    assert "60 undirected edges" in read(renamed, tmp_path, "data.options.source_column=from")
    with pytest.raises(InputError, match="has no option 'colour'; its options: label, id_column"):
        read(renamed, tmp_path, "data.options.source_column=from", "data.options.colour=red")
    with pytest.raises(InputError, match="option 'seed' is 'many'"):
        read(renamed, tmp_path, "data.options.source_column=from", "data.options.seed=many")
