"""What the default recipe's test accuracy stands beside: the majority class, and random forests on fingerprints.

    python -m benchmarks.solubility_baselines [--seeds 5]

A row a baseline and seed is written to ``results/solubility_baselines.csv``. The forests learn from the train and the
valid part together, since they choose no epoch; the test part is that of the recipe. Fingerprints are Morgan's of
radius 2, as bits and as counts.
"""

import argparse

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from sklearn.ensemble import RandomForestClassifier

from benchmarks.measure import write_csv
from deepergcn.data.molecules.solubility import SOLUBILITY_FILE, load_solubility
from deepergcn.data.tables.columns import read_columns

BITS = 2048
TREES = 500


def main() -> None:
    """Print a line for each baseline, and write the scores."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    dataset = load_solubility()
    y = dataset.y.numpy()
    test = dataset.split["test"].numpy()
    learn = np.concatenate([dataset.split[part].numpy() for part in ("train", "valid")])
    print(f"{len(learn)} molecules to learn from, {len(test)} to test on")
    scores = {"majority class": [float((y[test] == np.bincount(y[learn]).argmax()).mean())]}
    for name, features in fingerprints().items():
        forests = (RandomForestClassifier(TREES, random_state=seed, n_jobs=-1) for seed in seeds)
        scores[f"random forest on {name}"] = [
            float(forest.fit(features[learn], y[learn]).score(features[test], y[test])) for forest in forests
        ]
    for name, found in scores.items():
        print(f"{name}: test accuracy {np.mean(found):.4f}")
        rows = [{"seed": seed, "test_score": f"{score:.6f}"} for seed, score in enumerate(found)]
        write_csv("solubility_baselines", name, rows, {})


def fingerprints() -> dict[str, np.ndarray]:
    """The fingerprints of all molecules, in the order of the dataset."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=BITS)
    mols = [Chem.MolFromMolBlock(block) for block in read_columns(SOLUBILITY_FILE).text("molblock").to_pylist()]
    return {
        "Morgan bits": np.stack([generator.GetFingerprintAsNumPy(mol) for mol in mols]),
        "Morgan counts": np.stack([generator.GetCountFingerprintAsNumPy(mol) for mol in mols]),
    }


if __name__ == "__main__":
    main()
