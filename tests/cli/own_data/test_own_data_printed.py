"""What is printed about a user's file before training: one file a case."""

import gzip
from pathlib import Path

import pytest

from tests.cli.own_data.own_files import (
    EDGES,
    ROWS,
    active,
    graph,
    masks,
    mine,
    molecules,
    nodes,
    number,
    parquet,
    part,
    read,
    size,
    smiles,
)

PRINTED = {
    # the task of a target
    "active and inactive": mine(
        molecules(active),
        "y: binary, since it holds text with 2 different values",
        "positive is active (by its meaning",
    ),
    "0 and 1": mine(molecules(lambda i: i % 2), "y: binary, since it holds 0 and 1", "positive is 1 (by its meaning"),
    "1.0 and 0.0": mine(molecules(lambda i: f"{i % 2}.0"), "y: binary", "0 30, 1 30"),
    "True and False": mine(molecules(lambda i: i % 2 == 0), "positive is True (by its meaning"),
    "toxic and non-toxic": mine(
        molecules(lambda i: "toxic" if i % 2 else "non-toxic"), "positive is toxic (by its meaning"
    ),
    "Y and N": mine(molecules(lambda i: "NY"[i % 2]), "positive is Y (by its meaning"),
    "two colours": mine(
        molecules(lambda i: ["red", "blue"][i % 2]), "positive is red (the last in order; change it with --positive)"
    ),
    "a positive class that is said": mine(molecules(active), "positive is inactive (as given)", positive=["inactive"]),
    "classes of text": mine(
        molecules(lambda i: "abc"[i % 3]),
        "y: multi-class, since it holds text with 3 different values",
        "a 20, b 20, c 20",
    ),
    "whole numbers": mine(
        molecules(lambda i: i % 5),
        "y: regression, since it holds whole numbers from 0 to 4; --task multi-class treats them as classes",
        "metric    rmse",
    ),
    "whole numbers as classes": mine(
        molecules(lambda i: i % 3), "y: multi-class, from --task", "0 20, 1 20, 2 20", task="multi-class"
    ),
    "two whole numbers": mine(
        molecules(lambda i: i % 2 + 1),
        "y: regression, since it holds whole numbers from 1 to 2; --task binary treats them",
    ),
    "decimals": mine(
        molecules(number), "y: regression, since it holds numbers from 0 to 21.83", "0 to 21.83, mean 10.91"
    ),
    "0 and 1 as numbers": mine(molecules(lambda i: i % 2), "y: regression, from --task", task="regression"),
    "missing labels": mine(molecules(lambda i: "" if i % 6 == 0 else i % 2), "1 30, 0 20", "10 missing"),
    "gaps in other words": mine(
        molecules(lambda i: ["NA", "N/A", "NaN", "null"][i % 4] if i < 20 else i % 2),
        "20 missing (empty or 'N/A', 'NA', 'NaN', 'null'; --missing '' for empty cells only)",
    ),
    "None as a missing label": mine(
        molecules(lambda i: ["None", "weak", "strong"][i % 3]),
        "strong 20, weak 20",
        "20 missing (empty or 'None'; --missing '' for empty cells only)",
    ),
    "None as a class": mine(
        molecules(lambda i: ["None", "weak", "strong", ""][i % 4]),
        "None 15, strong 15, weak 15",
        "15 missing",
        missing=[""],
    ),
    "-1 for missing": mine(
        molecules(lambda i: i % 3 - 1), "y: binary, since it holds 0 and 1", "20 missing", missing=["-1"]
    ),
    "-1 as a class": mine(molecules(lambda i: i % 2 * 2 - 1), "-1 30, 1 30", "positive is 1", task="binary"),
    "several targets of two classes": mine(
        molecules(active, header="smiles,y,z", z=lambda i: i % 2),
        "y: binary",
        "z: binary",
        "metric    rocauc",
        target=["y,z"],
    ),
    "several targets of numbers": mine(
        molecules(number, header="smiles,y,z", z=lambda i: i * 100.5),
        "errors of several targets are averaged in units of their standard deviation",
        target=["y", "z"],
    ),
    "all targets": mine(
        molecules(active, header="smiles,y,z,split", z=lambda i: i % 2, split=part),
        "y: binary",
        "z: binary",
        target=["all"],
    ),
    "all targets without ids": mine(
        molecules(number, header="smiles,y,compound_id", compound_id=lambda i: 1000 + i),
        "y: regression",
        "left out  compound_id (ids, by its name and different numbers)",
        target=["all"],
    ),
    "plus and minus": mine(molecules(lambda i: "+-"[i % 2]), "positive is + (by its meaning", "- 30"),
    "percent signs as classes": mine(
        molecules(lambda i: f"{i % 3 * 10}%"), "y: multi-class, from --task", "0% 20, 10% 20", task="multi-class"
    ),
    "not determined is missing": mine(
        molecules(lambda i: ["active", "inactive", "n.d."][i % 3]), "y: binary", "20 missing", missing=["n.d."]
    ),
    "-999 is missing": mine(
        molecules(lambda i: "-999" if i % 10 == 0 else number(i)), "from 0.37 to 21.83", "6 missing", missing=["-999"]
    ),
    "-999 as a number": graph(
        nodes(size=lambda i: -999 if i % 5 == 0 else i / 7), "features  size (number)", numeric=["size"]
    ),
    "a target with a comma in its name": mine(
        'smiles,"y, 1"\n' + "".join(f"{smiles(i)},{i % 2}\n" for i in range(ROWS)), "y, 1: binary", target=["y, 1"]
    ),
    "all targets without names": mine(
        molecules(number, header="smiles,y,code", code=lambda i: f"CHEMBL{i}"),
        "left out  code (60 different texts)",
        target=["all"],
    ),
    # what may not be meant
    "signs beside the numbers": mine(
        molecules(number, header="smiles,y,Relation", between=";", relation=lambda i: f"'{'=<>'[i % 3]}'"),
        "caution   column 'Relation' is not = in 40 rows: their values are limits",
    ),
    "units beside the numbers": mine(
        molecules(number, header="smiles,y,standard_units", standard_units=lambda i: ["nM", "uM"][i % 2]),
        "caution   column 'standard_units' has several units (nM 30, uM 30): values are used as they are",
    ),
    "many orders of magnitude": mine(
        molecules(lambda i: 10 ** (i % 9) * 1.5), "caution   y spans 8 orders of magnitude"
    ),
    "nothing is missing": mine(molecules(active), "caution   --missing zz: no label is zz", missing=["zz"]),
    "-1 as one class of several": graph(
        nodes(lambda i: i % 4 - 1, size=size),
        "caution   y: -1 is a class of 15 rows; use --missing -1",
        task="multi-class",
    ),
    "ranges as classes": graph(
        nodes(lambda i: ["0", "1-3", "4 \u2013 10", ">10"][i % 4], size=size),
        "caution   y: classes such as '1-3' are ranges, whose order is not used; numbers keep the order",
    ),
    "a feature that tells the label": graph(
        nodes(size=size, group=lambda i: "ABC"[i % 3]),
        "caution   feature 'group' determines the class of y in every row",
    ),
    "numbers that tell the label": graph(
        nodes(
            code=lambda i: (i % 3) * 10,
            wide=lambda i: f"{i % 3 + i / 100}",
            size=size,
            six=lambda i: f"{'abc'[i % 3]}{i % 2}",
        ),
        "caution   feature 'code' determines the class of y in every row",
        "caution   feature 'wide' determines the class of y in every row",
        "caution   feature 'six' determines the class of y in every row",
    ),
    "a feature in another unit than the label": graph(
        nodes(number, size=size, grams=lambda i: f"{i * 370 + 5}"),
        "caution   feature 'grams' determines y in every row; --drop it",
    ),
    "points that may part thousands": mine(
        molecules(lambda i: f"{i + 1}.250" if i % 2 else i * 15), "has 0 and 2.250: a point is read as a decimal"
    ),
    "one number as two ids": graph(
        nodes(size=size).replace("n3,", "7,").replace("n4,", "007,"),
        "caution   ids '7' and '007' are different nodes, since ids are compared as text; write them the same way",
        edges=EDGES.replace("n3,", "7,").replace("n3\n", "7\n").replace("n4,", "007,").replace("n4\n", "007\n"),
    ),
    "no edges": graph(
        nodes(size=size), "caution   edges.csv has no rows: nothing is learned from it", edges="source,target\n"
    ),
    # the split
    "no split column": mine(
        molecules(active),
        "stratified with seed 0 (there is no split column): train 48, valid 6, test 6; active 33.3%, 33.3%, 33.3%",
    ),
    "no classes to stratify by": mine(
        molecules(number), "random with seed 0 (there is no split column): train 48, valid 6, test 6"
    ),
    "a split column": mine(
        molecules(active, header="smiles,y,split", split=part),
        "column 'split' (change it with --split): train 30, valid 15, test 15",
    ),
    "a split column in capitals": mine(
        molecules(active, header="smiles,y,SPLIT", split=lambda i: part(i).upper()), "column 'SPLIT'"
    ),
    "a split without valid": mine(
        molecules(active, header="smiles,y,split", split=lambda i: "test" if i % 4 == 0 else "train"),
        "column 'split', and valid drawn from train with seed 0 (change it with --split): train 40, valid 5, test 15",
    ),
    "rows in no part": mine(
        molecules(active, header="smiles,y,split", split=lambda i: "" if i % 4 == 0 else part(i)),
        "train 20, valid 10, test 15, unused 15",
    ),
    "another split column": mine(
        molecules(active, header="smiles,y,fold", fold=part), "column 'fold' (as given)", split="fold"
    ),
    "masks": mine(
        molecules(
            active,
            header="smiles,y,train_mask,val_mask,test_mask",
            train_mask=lambda i: masks(i, "train"),
            val_mask=lambda i: masks(i, "valid"),
            test_mask=lambda i: masks(i, "test"),
        ),
        "masks train_mask, val_mask, test_mask (change it with --split): train 30, valid 15, test 15",
    ),
    "fractions and a seed": mine(
        molecules(active),
        "stratified with seed 3",
        "train 30",
        split_fractions="0.5,0.25,0.25",
        split_seed=3,
    ),
    "no test part": mine(molecules(active), "train 54, valid 6, test 0", split_fractions="0.9,0.1,0"),
    "a random split": mine(molecules(number), "random with seed 1 (as given)", split="random", split_seed=1),
    "a scaffold split": mine(
        "smiles,y\n" + "".join(f"C1{'C' * (i // 3 + 2)}1{'C' * (i % 3)},{i * 0.5}\n" for i in range(ROWS)),
        "scaffold (as given)",
        split="scaffold",
    ),
    # metrics
    "several metrics": mine(
        molecules(active),
        "rocauc, ap, mcc (as given; the first selects the best epoch)",
        metric=["rocauc", "pr-auc,mcc"],
    ),
    "a rare class": mine(molecules(lambda i: int(i % 10 == 0)), "rare classes have a higher weight in the loss"),
    # the file
    "semicolons": mine(molecules(active, between=";"), "60 rows, delimiter semicolon"),
    "tabs": mine(molecules(active, between="\t"), "delimiter tab", name="mine.tsv"),
    "tabs in a csv": mine(molecules(active, between="\t"), "delimiter tab"),
    "another delimiter": mine(molecules(active, between="|"), "delimiter '|'", delimiter="|"),
    "gzip": mine(gzip.compress(molecules(active).encode(), mtime=0), "mine.csv.gz: 60 rows", name="mine.csv.gz"),
    "delimiters at the ends of the lines": mine(molecules(active).replace("\n", ",,\n"), "60 rows", "active 20"),
    "a byte order mark": mine(b"\xef\xbb\xbf" + molecules(active).encode(), "y: binary"),
    "blanks around the names of columns": mine(molecules(active, header=" Smiles , y "), "y: binary"),
    "windows line ends": mine(molecules(active).replace("\n", "\r\n"), "60 rows"),
    "parquet": mine(
        parquet(smiles=[smiles(i) for i in range(ROWS)], y=[i % 2 == 0 for i in range(ROWS)]),
        "positive is true",
        name="mine.parquet",
    ),
    "molecules that cannot be read": mine(
        molecules(active) + "C(C,active\n,active\n", "62 rows; 2 skipped: ", "empty (1)"
    ),
    "salts": mine(
        molecules(active) + "CCO.[Na+].[Cl-],active\n",
        "1 with several fragments, such as salts (all are kept; --fragments largest keeps one)",
    ),
    "salts left out": mine(molecules(active) + "CCO.[Na+].[Cl-],active\n", "the largest is kept", fragments="largest"),
    "repeated molecules": mine(
        molecules(active) + "OC,inactive\n", "1 repeated from an earlier row; 1 with different labels in different rows"
    ),
    "a regression with censored values": mine(
        molecules(lambda i: ">10" if i == 4 else number(i)),
        "1 skipped: column 'y' is '>10'; expected a number (a censored value: write its limit, 10",
        task="regression",
    ),
    "dummy atoms": mine(molecules(active) + "*CCO,active\n[1*]CCN,active\n", "2 with dummy atoms, such as *"),
    "other than molecules": mine(
        molecules(active) + '"InChI=1S/CH4/h1H4",active\nCCO>>CC=O,active\n',
        "an InChI; expected the SMILES of a molecule (1), a reaction; expected",
    ),
    "a SMILES file with extensions of ChemAxon": mine(
        "# made by me\n" + "".join(f"{smiles(i)} |c:0| {active(i)}\n" for i in range(ROWS)),
        "name: binary, since it holds text with 2 different values; inactive 40, active 20",
        name="mine.smi",
        target=["name"],
    ),
    # tables
    "numbers and categories": graph(
        nodes(size=size, colour=lambda i: ["red", "blue"][i % 2]),
        "features  size (number), colour (category of 2)",
        "60 nodes, 60 undirected edges",
    ),
    "ids and dates": graph(
        nodes(
            size=size, name=lambda i: f"name {i}", day=lambda i: f"2024-01-{i % 28 + 1:02d}", user_id=lambda i: 1000 + i
        ),
        "left out  name (60 different texts), day (dates), user_id (ids, by its name and different numbers)",
    ),
    "an empty column": graph(nodes(size=size, note=lambda i: ""), "left out  note (empty)"),
    "features that are said": graph(nodes(size=size, weight=number), "features  weight (number)", features=["weight"]),
    "a column that is left out": graph(nodes(size=size, weight=number), "left out  weight (as given)", drop=["weight"]),
    "a number as a category": graph(
        nodes(size=size, group=lambda i: i % 4), "group (category of 4)", categorical=["group"]
    ),
    "masks of nodes": graph(
        nodes(
            size=size,
            train_mask=lambda i: masks(i, "train"),
            val_mask=lambda i: masks(i, "valid"),
            test_mask=lambda i: masks(i, "test"),
        ),
        "masks train_mask, val_mask, test_mask",
        "features  size (number)\n",
    ),
    "edges by other names": graph(
        nodes(size=size),
        "60 undirected edges",
        edges=EDGES.replace("source,target", "from,to"),
        source_column="from",
        target_column="to",
    ),
    "self-loops, repeated edges and isolated nodes": graph(
        nodes(size=size),
        "60 nodes, 3 undirected edges; 1 self-loops; 2 repeated rows left out; 56 isolated nodes",
        edges="source,target\nn0,n0\nn1,n2\nn2,n1\nn1,n2\nn3,n4\n",
    ),
    "directed edges": graph(nodes(size=size), "60 directed edges", directed=True),
    "gaps in features": graph(
        nodes(size=lambda i: "" if i % 3 else i, colour=lambda i: ["red", "blue", ""][i % 3]),
        "size (number, 40 gaps filled with the mean), colour (category of 2, 20 gaps in no category)",
    ),
    "features that say nothing": graph(
        nodes(size=size, one=lambda i: 5, all=lambda i: "x", fold=lambda i: i % 5),
        "left out  one (5 in every row), all (x in every row), fold (fold numbers, by its name)",
    ),
    "an export of Gephi": graph(
        nodes(size=size).replace("id", "Id", 1),
        "left out  edge Type (states the direction of the edges)",
        edges="Source,Target,Type\n" + "".join(f"n{i},n{(i * 7 + 1) % ROWS},Undirected\n" for i in range(ROWS)),
    ),
    "parallel edges": graph(
        nodes(size=size),
        "3 undirected edges; 1 parallel edges with different features, kept",
        edges="source,target,weight\nn1,n2,3\nn2,n1,5\nn3,n4,1\n",
    ),
    "features of edges": graph(
        nodes(size=size),
        "edge weight (number)",
        edges="source,target,weight\n" + "".join(f"n{i},n{i + 1},{i}\n" for i in range(40)),
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed(name: str, tmp_path: Path) -> None:
    printed = read(PRINTED[name], tmp_path)
    for text in PRINTED[name].expected:
        assert text in printed
