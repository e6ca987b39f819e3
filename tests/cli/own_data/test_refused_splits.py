"""Splits in a user's file that are refused before training, in one line that says what to do: one file a case."""

from pathlib import Path

import pytest

from tests.cli.own_data.own_files import active, graph, mine, molecules, nodes, number, part, refused, size

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
        "row 4: is in train and in test, according to its masks",
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
        molecules(number), "a stratified split needs one label column of classes", split="stratified"
    ),
    "fractions that are none": mine(
        molecules(active), "--split-fractions is 'half'; expected three numbers", split_fractions="half"
    ),
    "fractions above 1": mine(molecules(active), "expected three numbers that sum to 1", split_fractions="0.8,0.2,0.2"),
    "no valid part": mine(
        molecules(active),
        "the valid part has no molecules with a label; expected another --split",
        split_fractions="0.9,0,0.1",
    ),
    "one class in train": mine(
        molecules(active, header="smiles,y,split", split=lambda i: "train" if i % 3 else ["valid", "test"][i % 2]),
        "the train part has one class only",
    ),
    "a metric that a part does not allow": mine(
        molecules(lambda i: int(i < 3)), "rocauc cannot be computed on the", "or --metric accuracy"
    ),
    "names of parts in another column": mine(
        molecules(active, header="smiles,y,partition", partition=part),
        "the column 'partition' has names of parts",
        "(--split 'partition') or not (--split random)",
    ),
    "masks by other names": graph(
        nodes(size=size, train=lambda i: int(i < 40), test=lambda i: int(i >= 40)),
        "the columns 'train', 'test' may be masks; rename them (train_mask, test_mask)",
    ),
    "is_train alone": graph(
        nodes(size=size, is_train=lambda i: i < 40), "the column 'is_train' is the mask of train alone"
    ),
    "a seed for a column": mine(
        molecules(active, header="smiles,y,split", split=part),
        "--split-seed: has no effect, since the column 'split' gives every part",
        split_seed=4,
    ),
    "a seed for scaffolds": mine(
        molecules(active), "cannot be combined with a scaffold split", split="scaffold", split_seed=4
    ),
    "one scaffold": mine(
        molecules(active),
        "the train part has no molecules with a label, since molecules of one scaffold stay together",
        split="scaffold",
    ),
    "too few rows": mine("smiles,y\nCCO,1\nCCN,0\n", "which leaves none for"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    refused(REFUSED[name], tmp_path)
