"""Examples and the README's programs run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path):
    out = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert out.stdout


PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_readmes_programs(program, tmp_path, request):
    if "Cooper" in program:
        request.getfixturevalue("bwrap")
    argv = [sys.executable, "-c", program]
    out = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "completed" in out.stdout or "Tau2" in program


def test_the_readme_has_programs():
    assert len(PROGRAMS) >= 5
