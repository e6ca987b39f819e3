"""The README's code runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_ten_lines_train_a_network() -> None:
    section = README.read_text(encoding="utf-8").split("## In ten lines")[1]
    code = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
    answer = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("{'beta': ")
