"""What is refused in a user's file before training, in one line that says what to do: one file a case."""

import gzip
from pathlib import Path

import pytest

from deepergcn.errors import InputError
from tests.cli.own_files import EDGES, active, graph, mine, molecules, nodes, number, part, read, size
from tests.cli.test_own_data_printed import PRINTED

REFUSED = {
    "a split with other values": mine(
        molecules(active, header="smiles,y,split", split=lambda i: "holdout" if i == 5 else part(i)),
        "row 6: the split column 'split' is 'holdout'; expected train, valid or test; --split random",
    ),
    "a split without train": mine(
        molecules(active, header="smiles,y,Split", split=lambda i: ["valid", "test"][i % 2]),
        "no row of the split column 'Split' is train",
    ),
    "two split columns": mine(
        molecules(active, header="smiles,y,split,SPLIT", split=part),
        "has the columns 'split', 'SPLIT'; expected one split column, or --split",
    ),
    "masks that overlap": mine(
        molecules(
            active, header="smiles,y,train_mask,test_mask", train_mask=lambda i: True, test_mask=lambda i: i == 3
        ),
        "row 4: is in train and in test by its masks",
    ),
    "a mask that is none": graph(
        nodes(size=size, train_mask=number, test_mask=lambda i: 0),
        "row 1: the mask 'train_mask' is '0.000'; expected true or false",
    ),
    "one mask alone": graph(
        nodes(size=size, train_mask=lambda i: i < 40),
        "the column 'train_mask' is the mask of train alone; expected masks of train and test",
    ),
    "no such split": mine(molecules(active), "there is no column 'part' for the split", split="part"),
    "numbers in strata": mine(
        molecules(number), "a stratified split expects one label column of classes", split="stratified"
    ),
    "fractions that are none": mine(
        molecules(active), "--split-fractions is 'half'; expected three numbers", split_fractions="half"
    ),
    "fractions above 1": mine(molecules(active), "expected three that sum to 1", split_fractions="0.8,0.2,0.2"),
    "no valid part": mine(
        molecules(active),
        "the valid part has no molecules with a label; expected another --split",
        split_fractions="0.9,0,0.1",
    ),
    "one class only": mine(molecules(lambda i: "active"), "label column 'y' has one class only, 'active'"),
    "only zeros": mine(molecules(lambda i: 0), "label column 'y' has one class only, '0'"),
    "one class in train": mine(
        molecules(active, header="smiles,y,split", split=lambda i: "train" if i % 3 else ["valid", "test"][i % 2]),
        "the train part has one class only",
    ),
    "a metric that a part does not allow": mine(
        molecules(lambda i: int(i < 3)), "rocauc cannot be computed on the", "or --metric accuracy"
    ),
    "a metric of another task": mine(molecules(active), "metric is 'rmse'; a binary task has rocauc", metric=["rmse"]),
    "an unknown metric": mine(molecules(active), "metric is 'gini'", metric=["gini"]),
    "an unknown task": mine(molecules(active), "task is 'ranking'; expected one of binary", task="ranking"),
    "targets of several kinds": mine(
        molecules(active, header="smiles,y,z", z=number),
        "the labels are of several kinds: 'y' is binary, 'z' is regression; train each kind in a run of its own",
        target=["y,z"],
    ),
    "-1 beside 0 and 1": mine(
        molecules(lambda i: i % 3 - 1), "holds -1, 0, 1; say whether -1 is a missing label (--missing -1)"
    ),
    "capitals": mine(
        molecules(lambda i: ["Active", "active", "no"][i % 3]),
        "'Active' in row 1 and 'active' in row 2, which differ in capitals, blanks or invisible characters only",
    ),
    "a censored value": mine(
        molecules(lambda i: ">10" if i == 4 else number(i)),
        "row 5: column 'y' is '>10'; expected a number (a censored value: write its limit, 10, or leave",
    ),
    "a decimal comma": mine(
        molecules(lambda i: "0,5" if i == 4 else number(i), between=";"),
        "row 5: column 'y' is '0,5'; expected a number (with a decimal point: 0.5)",
    ),
    "dates to learn": mine(
        molecules(lambda i: f"2024-01-{i % 28 + 1:02d}"),
        "label column 'y' holds dates, such as '2024-01-01'; expected classes or numbers, or --task multi-class",
    ),
    "days without a year": mine(molecules(lambda i: f"{i % 12 + 1}-Jan"), "holds dates, such as '1-Jan'"),
    "names of parts in another column": mine(
        molecules(active, header="smiles,y,partition", partition=part),
        "the column 'partition' holds names of parts",
        "(--split 'partition') or not (--split random)",
    ),
    "masks by other names": graph(
        nodes(size=size, train=lambda i: int(i < 40), test=lambda i: int(i >= 40)),
        "the columns 'train', 'test' may be masks; say so by their names (train_mask, test_mask)",
    ),
    "is_train alone": graph(
        nodes(size=size, is_train=lambda i: i < 40), "the column 'is_train' is the mask of train alone"
    ),
    "a seed for a column": mine(
        molecules(active, header="smiles,y,split", split=part),
        "--split-seed: nothing is drawn, since the column 'split' says every part",
        split_seed=4,
    ),
    "a seed for scaffolds": mine(molecules(active), "a scaffold split draws nothing", split="scaffold", split_seed=4),
    "one scaffold": mine(
        molecules(active),
        "the train part has no molecules with a label, since molecules of one scaffold stay together",
        split="scaffold",
    ),
    "one class in one of several targets": mine(
        molecules(active, header="smiles,y,z", z=lambda i: 0), "'z' has one class only, '0'", target=["y,z"]
    ),
    "one-hot classes": mine(
        molecules(lambda i: int(i % 2 == 0), header="smiles,y,z", z=lambda i: i % 2),
        "are 1 in exactly one column of every row, as one class that is one-hot encoded",
        target=["y,z"],
    ),
    "a class that cannot be read": mine(
        molecules(lambda i: "abc"[i % 3]) + "C(C,d\n", "no molecule of the class 'd' can be read; --missing 'd'"
    ),
    "a positive number": mine(molecules(number), "a regression task has none", positive=["1"]),
    "-1 beside classes": graph(
        nodes(lambda i: i % 4 - 1, size=size), "holds -1, 0, 1, 2; say whether -1 is a missing label (--missing -1)"
    ),
    "yes and 1": mine(
        molecules(lambda i: ["yes", "no", "1", "0"][i % 4]), "'1' in row 3 and 'yes' in row 1, which mean the same"
    ),
    "letters that cannot be seen": mine(
        molecules(lambda i: active(i) + "\u200b" * (i % 2)), "'active' in row 1 and 'active\\u200b' in row 4"
    ),
    "an inconclusive assay": mine(
        molecules(lambda i: ["Active", "Inactive", "Inconclusive"][i % 3]),
        "is 'Inconclusive'; say whether it is a missing label (--missing 'Inconclusive') or a class",
    ),
    # numbers that are not written as such
    "decimal commas in all cells": mine(
        molecules(lambda i: f"{i % 20 / 2}".replace(".", ","), between=";"),
        "row 1: column 'y' is '0,0'; expected a number (with a decimal point: 0.0)",
        "--task multi-class takes all of them for classes",
    ),
    "thousands": mine(
        molecules(lambda i: f'"{i % 9 + 1},234"'), "is '1,234'; expected a number (without the comma if it parts"
    ),
    "percent signs": mine(molecules(lambda i: f"{i % 7 * 10}%"), "is '0%'; expected a number (without the percent"),
    "units": mine(molecules(lambda i: f"{i % 9 + 1} nM"), "is '1 nM'; expected a number (without its unit: 1)"),
    "another minus": mine(
        molecules(lambda i: f"\u2212{i % 9 + 1}.5"), "expected a number (with a hyphen for the minus: -1.5)"
    ),
    "limits of measurement alone": mine(
        molecules(lambda i: [">10", "<1", "5"][i % 3]), "is '>10'; expected a number (a censored value"
    ),
    "numbers with their errors": mine(
        molecules(lambda i: f"{i % 9}.1 ± 0.2"), "expected a number (the number alone: 0.1)"
    ),
    "a feature with decimal commas": graph(
        nodes(size=lambda i: f'"{i % 5},5"'),
        "row 1: column 'size' is '0,5'; expected a number (with a decimal point: 0.5); --drop leaves",
    ),
    "a feature in money": graph(nodes(size=lambda i: f"${i}.50"), "is '$0.50'; expected a number (without the curr"),
    "a feature with many gaps in words": graph(
        nodes(size=lambda i: "n.d." if i % 3 else i), "row 2: column 'size' is 'n.d.'; expected a number; --drop"
    ),
    "one category in two spellings": graph(
        nodes(flag=lambda i: ["TRUE", "false", "True"][i % 3]),
        "column 'flag' has 'TRUE' in row 1 and 'True' in row 3, which differ in capitals",
    ),
    "codes with zeros before them": graph(
        nodes(code=lambda i: f"{i % 7:04d}"),
        "column 'code' has '0000' in row 1, which may be a code",
        "(--categorical)",
    ),
    "the label as a feature": graph(nodes(size=size), "the column 'y' is a label, an id or the split", features=["y"]),
    "a feature with -999 for gaps": graph(
        nodes(size=lambda i: -999 if i % 5 == 0 else i / 7), "column 'size' holds -999, which lies apart from its"
    ),
    # what may stand for a missing label
    "not determined": mine(
        molecules(lambda i: ["active", "inactive", "n.d."][i % 3]),
        "row 3: label column 'y' is 'n.d.'; say whether it is a missing label (--missing 'n.d.') or a class",
    ),
    "errors of a spreadsheet": mine(
        molecules(lambda i: ["active", "inactive", "#N/A"][i % 3]), "is '#N/A'; say whether it is a missing label"
    ),
    "a word among numbers": mine(
        molecules(lambda i: "n.d." if i == 5 else number(i)),
        "row 6: column 'y' is 'n.d.'; expected a number, as most cells of the column are, or --missing 'n.d.' if it",
    ),
    "-999 among numbers": mine(
        molecules(lambda i: "-999" if i % 10 == 0 else number(i)), "holds -999, which lies apart", "(--missing -999)"
    ),
    "9 beside 0 and 1": mine(molecules(lambda i: 9 if i % 10 == 0 else i % 2), "(--missing 9) or one like the others"),
    "one number": mine(molecules(lambda i: "5.5"), "label column 'y' is 5.5 in every row; there is nothing to learn"),
    # the file
    "two columns of SMILES": mine(
        molecules(active, header="SMILES,y,smiles", smiles=lambda i: "C"),
        "has the columns 'SMILES', 'smiles'; expected one of SMILES, or --smiles-column",
    ),
    "SMILES by another name": mine(
        molecules(active).replace("smiles", "Structure"),
        "there is no column 'smiles' for the SMILES",
        "--smiles-column names another",
    ),
    "a title above the header": mine(
        "Exported today\n" + molecules(active), "row 1 has 2 columns; expected 1, as the header 'Exported today' has"
    ),
    "Windows-1252": mine(
        molecules(number).replace("y", "IC50 (µM)", 1).encode("cp1252"),
        "the header has the byte 0xb5; invalid UTF-8: save it as CSV UTF-8",
    ),
    "UTF-16": mine(molecules(active).encode("utf-16"), "is text in UTF-16: save it as CSV UTF-8"),
    "gzip by another name": mine(
        gzip.compress(b"smiles,y\n", mtime=0), "is compressed by gzip: let its name end in .gz"
    ),
    "a workbook by another name": mine(b"PK\x03\x04", "is a workbook or an archive: let its name end in .xlsx"),
    "an archive": mine(b"PK\x03\x04", "is an archive; unpack it first", name="mine.csv.zip"),
    "GraphML": mine("<graphml/>", "read it with networkx and train from Python", name="mine.graphml"),
    "comments above the edges": graph(
        nodes(size=size),
        "row 1 has 2 columns; expected 1, as the header '# made by me' has",
        edges="# made by me\n" + EDGES,
    ),
    "comments of one column": graph(
        nodes(size=size),
        "the header is the first line: remove those above it, which begin with '#'",
        edges="# made by me\n# 60 edges\n",
    ),
    "a line of Excel": mine(
        "sep=;\n" + molecules(active, between=";"), "remove those above it, which begin with 'sep='"
    ),
    "a property of two values": mine(
        "m\n\n\n  0  0\nM  END\n> <y>\n1\n\n> <y>\n2\n\n$$$$\n",
        "record 1 has the property 'y' twice, '1' and '2'",
        name="mine.sdf",
    ),
    "a table by the name of SMILES": mine("smiles\tid\ty\nC\t1\t1\n", "let its name end in .tsv", name="mine.smi"),
    "directed edges of Gephi": graph(
        nodes(size=size),
        "by the column 'Type' edges are directed; expected a call with --directed",
        edges="Source,Target,Type\nn1,n2,Directed\n",
    ),
    "edges without a header": graph(
        nodes(size=size),
        "there is no column 'source' for the edges; the columns are 'n0', 'n1'; --source-column or",
        edges=EDGES.partition("\n")[2],
    ),
    "ids with .0": graph(
        nodes(size=size), "row 1: source 'n0.0' is not the id of a node", edges="source,target\nn0.0,n1.0\n"
    ),
    "ids with zeros before them": graph(
        "id,y,size\n" + "".join(f"{i:03d},{'ab'[i % 2]},{i}\n" for i in range(60)),
        "source '7' is not the id of a node",
        "(as in 2 rows); '007' is one: write them alike",
        edges="source,target\n7,008\n9,010\n",
    ),
    "too many classes": mine(
        molecules(lambda i: f"class {i}"), "at most 50 classes; found 60, which --task multi-class"
    ),
    "a positive class that is none": mine(
        molecules(active), "the positive class is 'yes'; expected one of active, inactive", positive=["yes"]
    ),
    "no such target": mine(
        molecules(active),
        "there is no column 'activity' for the labels; the columns are 'smiles', 'y'",
        target=["activity"],
    ),
    "no target": mine(molecules(active), "--molecules: expected --target", target=None),
    "an empty target": mine(molecules(lambda i: ""), "label column 'y' is empty"),
    "too few rows": mine("smiles,y\nCCO,1\nCCN,0\n", "which leaves none for"),
    "a workbook": mine(b"PK\x03\x04", "it is not an .xlsx workbook, or it is damaged", name="mine.xlsx"),
    "an unknown ending": mine(
        "x",
        "expected a name that ends in .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .xlsx, .xlsm, .sdf",
        name="mine.mol2",
    ),
    "a delimiter that is none": mine(
        molecules(active), "expected comma, semicolon, tab or another single character", delimiter="ab"
    ),
    "infinite numbers": graph(
        nodes(size=lambda i: "inf" if i == 8 else size(i)),
        "row 9: column 'size' is 'inf'; expected a number, as most cells of the column are; --drop leaves",
    ),
    "text among numbers": graph(
        nodes(size=lambda i: "n.d." if i == 8 else size(i)), "row 9: column 'size' is 'n.d.'; expected a number"
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


def test_there_are_enough_files() -> None:
    assert len(PRINTED) + len(REFUSED) >= 60


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read(REFUSED[name], tmp_path)
    message = str(refused.value)
    assert "\n" not in message
    for text in REFUSED[name].expected:
        assert text in message


def test_options_of_the_reader_as_settings(tmp_path: Path) -> None:
    renamed = graph(nodes(size=size), edges=EDGES.replace("source", "from"))
    assert "60 undirected edges" in read(renamed, tmp_path, "data.options.source_column=from")
    with pytest.raises(InputError, match="has no option 'colour'; its options: label, id_column"):
        read(renamed, tmp_path, "data.options.source_column=from", "data.options.colour=red")
    with pytest.raises(InputError, match="option 'seed' is 'many'"):
        read(renamed, tmp_path, "data.options.source_column=from", "data.options.seed=many")
