"""A process that meets hostile inputs one after another and says how each ended: ``python -m tests.fuzz.worker``.

It reads a case as one line of JSON and answers with one. The process that started it sees when it hangs or dies.
"""

import json
import os
import resource
import sys
import tempfile
import traceback
from typing import Any

MEMORY = 12 << 30
"""Bytes of address space that the process may have."""


def main() -> None:
    """Answer until there is no more case."""
    cases, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        for line in cases:
            for file in (out, err):
                file.seek(0)
                file.truncate()
            answer = _answer(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            err.seek(0)
            answer["stderr"] = err.read().decode(errors="replace")[-4_000:]
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def _answer(case: dict[str, Any]) -> dict[str, Any]:
    from deepergcn.errors import InputError

    os.chdir(case["folder"])
    try:
        code = (_program if case["door"] == "program" else _read)(case["arguments"])
    except InputError as error:
        message = str(error)
        return {"code": 2, "message": message, "lines": len(message.splitlines())}
    except BaseException as error:
        return {"code": None, "message": repr(error)[:500], "traceback": traceback.format_exc()[-4_000:]}
    return {"code": code, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def _program(arguments: list[str]) -> int:
    from deepergcn.cli.main import main as program

    sys.argv = ["deepergcn", *arguments]
    try:
        program()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    return 0


def _read(arguments: dict[str, Any]) -> int:
    """Read a dataset by the library, and every graph of it."""
    from deepergcn.data.graphs.read import read_graphs
    from deepergcn.data.registry import load_dataset, load_described

    edges = arguments.pop("edges", None)
    options = arguments.pop("options", {})
    if "graphs" in arguments:
        dataset = read_graphs(arguments["graphs"], **options)
    elif edges is None:
        dataset = load_dataset(arguments["source"], **{"root": ".", **options})
    else:
        dataset = load_described(arguments["source"], edges, options)
    for i in range(min(len(dataset), 50)):
        if dataset.num_nodes < 1_000_000:
            dataset.graph(i)
    return 0


if __name__ == "__main__":
    main()
