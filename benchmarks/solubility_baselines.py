"""What the default recipe's test accuracy stands beside: the majority class, and random forests on fingerprints.

    python -m benchmarks.solubility_baselines [--seeds 5]

The forests learn from the train and the valid part together, since they choose no epoch; the test part is that of the
recipe. Fingerprints are Morgan's of radius 2, as bits and as counts.
"""

import argparse

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from sklearn.ensemble import RandomForestClassifier

from deepergcn.data.molecules.solubility import SOLUBILITY_FILE, load_solubility
from deepergcn.data.tables.columns import read_columns

BITS = 2048
TREES = 500


def main() -> None:
    """Print a line for each baseline."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    dataset = load_solubility()
    y = dataset.y.numpy()
    test = dataset.split["test"].numpy()
    learn = np.concatenate([dataset.split[part].numpy() for part in ("train", "valid")])
    majority = np.bincount(y[learn]).argmax()
    print(f"{len(learn)} molecules to learn from, {len(test)} to test on")
    print(f"majority class ({dataset.label_names[majority]}): test accuracy {(y[test] == majority).mean():.4f}")
    for name, features in fingerprints().items():
        scores = []
        for seed in seeds:
            forest = RandomForestClassifier(TREES, random_state=seed, n_jobs=-1).fit(features[learn], y[learn])
            scores.append(forest.score(features[test], y[test]))
        print(f"random forest on {name}: test accuracy {np.mean(scores):.4f} ± {np.std(scores):.4f}")


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
