"""``python -m tests.fuzz --seconds 3600 --seed 0``: attack, and count how the inputs ended."""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.case import Case
from tests.fuzz.cases import make_case
from tests.fuzz.corpus import make_corpus
from tests.fuzz.guard import Guard, Outcome


@dataclass
class Counts:
    """How the inputs ended, and those that ended in neither a success nor a clean error."""

    verdicts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    others: list[tuple[int, Case, Outcome]] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {self.verdicts[name]}" for name in ("clean error", "success", "other"))
        return f"{sum(self.verdicts.values())} inputs: {counts}; {dict(self.kinds.most_common())}"


def attack(
    seed: int,
    *,
    seconds: float = float("inf"),
    first: int = 0,
    cases: float = float("inf"),
    new_process: int = 100,
    keep: Path | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Counts:
    """Meet cases until the time or their number is up; one in ``new_process`` of the program's in a new process."""
    counts = Counts()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="deepergcn-fuzz-") as temporary:
        base = Path(temporary) / "corpus"
        base.mkdir()
        corpus = make_corpus(base)
        guard = Guard(Path(temporary) / "data")
        try:
            for arguments in corpus.training():
                made = guard.run(Case("corpus", base, "program", arguments))
                if made.verdict != "success":
                    raise RuntimeError(f"the sound inputs are refused: {made.reason} {made.detail}")
            number = first
            while number - first < cases and time.monotonic() - start < seconds:
                folder = Path(temporary) / "case"
                folder.mkdir()
                case = make_case(corpus, folder, seed, number)
                alone = case.door == "program" and number % new_process == 0
                outcome = guard.run_program(case) if alone else guard.run(case)
                counts.verdicts[outcome.verdict] += 1
                counts.kinds[case.kind] += 1
                if outcome.verdict == "other":
                    counts.others.append((number, case, outcome))
                    asked = json.dumps(case.arguments)[:400]
                    tell(f"{number} {case.kind}: {outcome.reason}\n  {asked}\n{outcome.detail}")
                    if keep is not None:
                        shutil.copytree(
                            folder, keep / f"{seed}-{number}", dirs_exist_ok=True, symlinks=True, ignore=_special
                        )
                shutil.rmtree(folder)
                number += 1
                if number % 500 == 0:
                    tell(f"-- {time.monotonic() - start:.0f} s, {counts}")
        finally:
            guard.stop()
    return counts


def _special(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_fifo()]


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to attack")
    parser.add_argument("--cases", type=float, default=float("inf"), help="the number of inputs at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input, to see one again")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs that are met badly")
    given = parser.parse_args()

    def tell(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    counts = attack(given.seed, seconds=given.seconds, first=given.first, cases=given.cases, keep=given.keep, tell=tell)
    tell(str(counts))
    for reason, times in Counter(outcome.reason for _, _, outcome in counts.others).most_common():
        tell(f"{times} times: {reason}")
    return 1 if counts.others else 0


if __name__ == "__main__":
    sys.exit(main())
