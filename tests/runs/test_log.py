"""The csv files of a run when it goes on: kept up to an epoch as they are, and refused where they are damaged."""

from pathlib import Path

import pytest

from deepergcn.errors import InputError
from deepergcn.runs.log import RunLog
from deepergcn.runs.run import DYNAMIC_COLUMNS, METRIC_COLUMNS

HEADER = ",".join(METRIC_COLUMNS) + "\n"
ROWS = [f"{epoch},0.5,,,,0.25,,0.01,{epoch}.5,100.0\n" for epoch in (1, 2, 3)]


def test_rows_up_to_an_epoch_are_kept_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(HEADER + "".join(ROWS))
    log = RunLog(tmp_path, 2)
    assert log.metrics == HEADER + "".join(ROWS[:2])
    assert log.dynamics == ",".join(DYNAMIC_COLUMNS) + "\n"


@pytest.mark.parametrize(
    "content",
    [
        HEADER.encode() + b"\xc3,0.5,,,,0.25,,0.01,1.5,100.0\n",
        (HEADER + "one,0.5,,,,0.25,,0.01,1.5,100.0\n").encode(),
        (HEADER + "1,0.5\n").encode(),
        (HEADER + ROWS[0].replace("1,", ",", 1)).encode(),
        (HEADER + '"1\n",0.5,,,,0.25,,0.01,1.5,100.0\n').encode(),
        b"epoch\n1\n",
        b"",
    ],
)
def test_damage_is_one_error_that_names_the_file(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"metrics\.csv: ") as caught:
        RunLog(tmp_path, 2)
    assert "\n" not in str(caught.value)
