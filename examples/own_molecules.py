"""Train on a file of molecules, and predict two that are new.

The file has a column of SMILES and a column to learn: whether an alcohol dissolves in
water, by the length of its chain. Task, classes, split and metric are found in the
file. The network is small, so that this takes seconds.

It prints::

    trained on 32 alcohols, tested on 4
    CCO: yes
    CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCO: no
    not a molecule: None
"""

from pathlib import Path

import deepergcn

if __name__ == "__main__":
    rows = [
        f"{'C' * carbons}O,{'yes' if carbons <= 20 else 'no'}"
        for carbons in range(1, 41)
    ]
    Path("alcohols.csv").write_text(
        "\n".join(["smiles,soluble", *rows]) + "\n", encoding="utf-8"
    )

    small = {
        "model.num_layers": 3,
        "model.hidden_channels": 32,
        "training.batch_size": 8,
    }
    model = deepergcn.train(
        molecules="alcohols.csv",
        target="soluble",
        epochs=15,
        settings=small,
        out="runs/alcohols",
    )
    assert model.report is not None
    sizes = model.report.split.sizes
    print(f"trained on {sizes['train']} alcohols, tested on {sizes['test']}")
    columns = model.predict(["CCO", "C" * 35 + "O", "not a molecule"]).columns()
    for smiles, answer in zip(columns["id"], columns["class"], strict=True):
        print(f"{smiles}: {answer}")
