"""What a policy could try to pass tests without doing the work, and what grades say of honest patches."""

import json
import py_compile
from collections.abc import Callable
from pathlib import Path

import pytest

from simenvs.envs.cooperbench import grading
from simenvs.envs.cooperbench.grading import grade, protected, reference
from simenvs.envs.cooperbench.sandbox import Backend
from simenvs.envs.cooperbench.workspace import Base

PatchOf = Callable[..., str]

PASS_ALL = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""
INIT = (
    '"""Bills for a small restaurant."""\n\n'
    "from bistro.bill import Bill\nfrom bistro.menu import Menu\n\n"
    '__all__ = ["Bill", "Menu"]\n'
)
ENTRY_POINT = "[pytest11]\ncheat = bistro.cheat\n"
METADATA = "Metadata-Version: 2.1\nName: bistro\nVersion: 1\n"


def test_gold_patches_pass(base: Base, backend: Backend) -> None:
    gold = tuple(base.code_base.features[n].patch for n in (1, 3))
    graded = grade(base, (1, 3), (gold[0], gold[1]), backend)
    assert graded.success
    assert graded.progress == 1.0
    assert [tested.passed for tested in (*graded.merged, *graded.alone)] == [True] * 4
    assert graded.new_tests == (1.0, 1.0)
    assert graded.vacuous == (False, False)
    assert all(lines > 5 for lines in graded.lines)
    assert graded.merged[0].tests_passed > 4
    assert graded.merged[0].tests_failed == 0


def test_nothing_is_worth_nothing(base: Base, backend: Backend) -> None:
    graded = grade(base, (1, 3), ("", ""), backend)
    assert not graded.success
    assert graded.new_tests == (0.0, 0.0)
    assert graded.lines == (0, 0)
    # Applied and merged, and that's all.
    assert graded.progress == pytest.approx(2 / 6)


def test_half_of_the_work(base: Base, backend: Backend) -> None:
    gold = base.code_base.features[3].patch
    graded = grade(base, (1, 3), ("", gold), backend)
    assert [tested.passed for tested in graded.merged] == [False, True]
    assert [tested.passed for tested in graded.alone] == [False, True]
    assert graded.progress == pytest.approx(4 / 6)


def test_one_agent_may_do_both(base: Base, backend: Backend) -> None:
    graded = grade(base, (1, 2), (base.code_base.combined, ""), backend)
    assert graded.success
    assert graded.lines[1] == 0 < graded.lines[0]


def test_a_conflict_without_a_policy_for_it(base: Base, backend: Backend) -> None:
    gold = tuple(base.code_base.features[n].patch for n in (1, 2))
    graded = grade(base, (1, 2), (gold[0], gold[1]), backend, policy="naive")
    assert graded.merge.diff is None
    assert [tested.outcomes for tested in graded.merged] == [{}, {}]
    assert [tested.passed for tested in graded.alone] == [True, True]
    assert not graded.success


def test_a_broken_patch_is_no_error(base: Base, backend: Backend) -> None:
    gold = base.code_base.features[3].patch
    graded = grade(base, (1, 3), ("diff --git nonsense", gold), backend)
    assert graded.merge.applied == ("failed", "applied")
    assert [tested.passed for tested in graded.merged] == [False, True]


def test_references_know_the_new_tests(base: Base, backend: Backend) -> None:
    known = reference(base, base.code_base.features[1], backend)
    assert known.base < known.gold
    assert not known.vacuous


def cheats(base: Base, backend: Backend, patch: str) -> bool:
    """Whether feature 1 passes with a patch that does not implement it."""
    graded = grade(base, (1, 3), (patch, base.code_base.features[3].patch), backend)
    assert graded.merged[0].passed == graded.success
    return graded.merged[0].passed or graded.alone[0].passed or graded.new_tests[0] == 1.0


@pytest.mark.parametrize(
    "files",
    [
        {"conftest.py": PASS_ALL},
        {"tests/conftest.py": PASS_ALL},
        {"pytest.ini": "[pytest]\naddopts = -p bistro.cheat\n", "bistro/cheat.py": PASS_ALL},
        {".pytest.ini": "[pytest]\naddopts = -p bistro.cheat\n", "bistro/cheat.py": PASS_ALL},
        {"tox.ini": "[pytest]\naddopts = -p bistro.cheat\n", "bistro/cheat.py": PASS_ALL},
        {"setup.cfg": "[tool:pytest]\naddopts = -p bistro.cheat\n", "bistro/cheat.py": PASS_ALL},
        {
            "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p bistro.cheat"\n',
            "bistro/cheat.py": PASS_ALL,
        },
        {
            "bistro.egg-info/entry_points.txt": ENTRY_POINT,
            "bistro.egg-info/PKG-INFO": METADATA,
            "bistro/cheat.py": PASS_ALL,
        },
        {
            "bistro-1.dist-info/entry_points.txt": ENTRY_POINT,
            "bistro-1.dist-info/METADATA": METADATA,
            "bistro/cheat.py": PASS_ALL,
        },
    ],
    ids=lambda files: next(iter(files)),
)
def test_settings_of_tests_have_no_say(
    base: Base,
    backend: Backend,
    patch_of: PatchOf,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
) -> None:
    patch = patch_of(files)
    assert not cheats(base, backend, patch)
    # The attempt is a real one: without protection it works.
    monkeypatch.setattr(grading, "protected", lambda path: False)
    assert cheats(base, backend, patch)


SAY_ALL_PASSED = """
import json, os
for fd in range(3, 64):
    for key in ("", "0" * 16):
        for line in ([key, "tests/test_discount.py::test_no_discount", "passed"], [key, "", 0]):
            try:
                os.write(fd, json.dumps(line).encode() + b"\\n")
            except OSError:
                pass
"""
REPORT = (
    "import json\n"
    "report = json.dumps([{'exit_code': 0, 'outcomes': {'a': 'passed'}, 'in_time': True, 'output': ''}] * 4)\n"
)


@pytest.mark.parametrize(
    "files",
    [
        {"sitecustomize.py": PASS_ALL, "usercustomize.py": PASS_ALL},
        {"bistro.pth": "import bistro.cheat\n", "bistro/cheat.py": "import os; os._exit(0)\n"},
        {"pytest.py": "def main(*a, **k): return 0\n", "_pytest/__init__.py": ""},
        {"json.py": "raise SystemExit(0)\n", "decimal.py": "import os; os._exit(0)\n"},
        {"run_tests.py": "import os; os._exit(0)\n"},
        {"bistro/__init__.py": f"import os\nos._exit(0)\n{INIT}"},
        {"bistro/__init__.py": f"import sys\nsys.exit(0)\n{INIT}"},
        {"bistro/__init__.py": f"import os\nos.fork() and os._exit(0)\n{INIT}"},
        {"bistro/__init__.py": f"import atexit, os\natexit.register(os._exit, 0)\n{INIT}"},
        {"bistro/__init__.py": f"import pytest\npytest.skip('x', allow_module_level=True)\n{INIT}"},
        {"bistro/__init__.py": f"import pytest\npytest.exit('x', returncode=0)\n{INIT}"},
        {"bistro/__init__.py": f"{INIT}print('===== 99 passed in 0.01s =====')\n"},
        {"bistro/__init__.py": f"{SAY_ALL_PASSED}\nos._exit(0)\n{INIT}"},
        {
            "bistro/__init__.py": f"{REPORT}import os, sys\nos.write(1, report.encode())\nos.kill(os.getppid(), 9)\n"
            f"os._exit(0)\n{INIT}"
        },
        {
            "bistro/__init__.py": f"{REPORT}import os\n"
            "for fd in range(64):\n"
            "    try:\n"
            "        open(f'/proc/{os.getppid()}/fd/{fd}', 'w').write(report)\n"
            "    except OSError:\n"
            "        pass\n"
            f"os._exit(0)\n{INIT}"
        },
        {
            "bistro/__init__.py": "import os\nos.environ['PYTEST_ADDOPTS'] = '-p bistro.cheat'\n"
            "os.environ['PYTEST_PLUGINS'] = 'bistro.cheat'\n" + INIT,
            "bistro/cheat.py": PASS_ALL,
        },
        {
            "bistro/__init__.py": f"{INIT}open('tests/test_discount.py', 'w').write('def test(): pass')\n"
        },
        {"tests/test_discount.py": "def test_all() -> None:\n    pass\n"},
        {"tests/test_bistro.py": None},
        {"Tests/conftest.py": PASS_ALL, "tests/test_discount_test.py": "def test(): pass\n"},
        {"tests": Path("bistro")},
        {"bistro/escape": Path("/opt/simenvs"), "bistro/up": Path("..")},
        {".gitattributes": "* merge=union\n*.py filter=x diff=x\n", ".gitmodules": "[submodule]"},
    ],
    ids=lambda files: " ".join(files),
)
def test_tests_cant_be_faked(
    base: Base, backend: Backend, patch_of: PatchOf, files: dict[str, str | Path | None]
) -> None:
    assert not cheats(base, backend, patch_of(files))


def test_compiled_code_is_no_code(
    base: Base, backend: Backend, patch_of: PatchOf, tmp_path: Path
) -> None:
    source = tmp_path / "menu.py"
    source.write_text("import os; os._exit(0)\n")
    compiled = Path(py_compile.compile(str(source), str(tmp_path / "menu.pyc"))).read_bytes()
    tag = Path(py_compile.compile(str(source))).name
    files = {f"bistro/__pycache__/{tag}": compiled, "bistro/cheat.pyc": compiled}
    graded = grade(base, (1, 3), (patch_of(files), ""), backend)
    assert graded.lines == (0, 0)
    assert not graded.success


def test_endless_tests_end(
    base: Base, backend: Backend, patch_of: PatchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading, "TEST_SECONDS", 1.0)
    patch = patch_of({"bistro/__init__.py": f"while True: pass\n{INIT}"})
    graded = grade(base, (1, 3), (patch, base.code_base.features[3].patch), backend, alone=False)
    assert graded.merged[0].exit_code is None
    assert not graded.success


def test_a_test_that_vanishes_is_missed(base: Base, backend: Backend, patch_of: PatchOf) -> None:
    """Skipping just what fails leaves an exit code of 0 and tests that pass."""
    skip = (
        f"{INIT}\nimport inspect\n\nimport pytest\n\n_init = Bill.__init__\n\n\n"
        "def _skip(self, menu):\n"
        "    names = [frame.function for frame in inspect.stack()]\n"
        "    if any('off' in name or 'range' in name or 'full' in name for name in names):\n"
        "        pytest.skip('not today')\n"
        "    _init(self, menu)\n\n\nBill.__init__ = _skip\n"
        "Bill.total = (lambda total: lambda self, discount=0: total(self))(Bill.total)\n"
    )
    graded = grade(base, (1, 3), (patch_of({"bistro/__init__.py": skip}), ""), backend)
    assert graded.merged[0].exit_code == 0
    assert "passed" in graded.merged[0].outcomes.values()
    assert not graded.merged[0].passed


def test_a_run_leaves_nothing_to_the_next(base: Base, backend: Backend, patch_of: PatchOf) -> None:
    """Files that the first run writes and processes that it starts are gone in the second."""
    places = ("/workspace/repo/conftest.py", "/tmp/x", "/dev/shm/x")
    leave = (
        f"{INIT}import os\nfor place in {places}:\n    open(place, 'w').write({PASS_ALL!r})\n"
        "if os.fork() == 0:\n    import time\n    time.sleep(600)\n    os._exit(0)\n"
    )
    look = (
        f"{INIT}import os\nassert not [place for place in {places} if os.path.exists(place)]\n"
        "assert not [n for n in os.listdir('/proc') if n.isdigit() and int(n) > os.getpid()]\n"
    )
    patches = (
        patch_of({"bistro/__init__.py": leave}),
        base.code_base.features[2].patch + patch_of({"bistro/__init__.py": look}),
    )
    graded = grade(base, (1, 2), patches, backend, policy="naive")
    left, looked = graded.alone
    assert left.outcomes
    assert not left.passed
    assert looked.passed, looked.output


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py", "a/conftest.py", "CONFTEST.py", "sitecustomize.py", "x.pth", "a/b.pyc",
        "setup.cfg", "pyproject.toml", "tests/x.txt", "a/test/b.py", "test_x.py", "a/x_test.py",
        "x.egg-info/entry_points.txt", ".git/config", "a/__pycache__/b", ".gitattributes",
    ],
)  # fmt: skip
def test_protected_paths(path: str) -> None:
    assert protected(path)


@pytest.mark.parametrize(
    "path", ["src/click/testing.py", "contest.py", "a/latest.py", "attest/x.py", "README.md"]
)
def test_paths_of_ordinary_code(path: str) -> None:
    assert not protected(path)


def test_recorded_outcomes_are_what_is_measured(base: Base, backend: Backend) -> None:
    recorded = grading._recorded(base.code_base)
    assert recorded, "the code base has no record of outcomes"
    for number, feature in base.code_base.features.items():
        measured = grading._measured(base, feature, backend)
        assert sorted(measured.gold) == recorded[str(number)]["gold"]
        assert sorted(measured.base) == recorded[str(number)]["base"]
        assert json.dumps(measured.vacuous) == json.dumps(recorded[str(number)]["vacuous"])
