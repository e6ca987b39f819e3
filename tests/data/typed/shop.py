"""A toy graph of two types: a user is happy where the item that they bought is heavy."""

from pathlib import Path

import numpy as np

from tests.training.trained import write_lines

BUYS = "user,buys,item"


def shop(folder: Path, users: int = 60, items: int = 20) -> tuple[dict[str, str], dict[str, str]]:
    """Tables of users and items by type, and of what each user bought; only the item says whether a user is happy."""
    rng = np.random.default_rng(0)
    heavy = np.arange(items) % 2
    bought = rng.permutation(np.arange(users) % items)
    folder.mkdir(parents=True, exist_ok=True)
    nodes = {
        "user": write_lines(
            folder / "users.csv",
            "id,age,happy",
            *(f"u{i},{rng.integers(20, 60)},{'yes' if heavy[bought[i]] else 'no'}" for i in range(users)),
        ),
        "item": write_lines(
            folder / "items.csv",
            "id,weight,colour",
            *(
                f"i{j},{5 * heavy[j] + rng.random():.3f},{'red' if rng.random() < 0.5 else 'blue'}"
                for j in range(items)
            ),
        ),
    }
    edges = write_lines(
        folder / "buys.csv",
        "source,target,price",
        *(f"u{i},i{bought[i]},{rng.random():.2f}" for i in range(users)),
    )
    return {name: str(path) for name, path in nodes.items()}, {BUYS: str(edges)}
