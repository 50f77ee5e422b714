"""The Docker backend against recorded answers of an engine (Docker 27.3); no engine is needed.

What a real engine makes of these command lines is not tested here.
"""

import io
import json
import os
import stat
import tarfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from simenvs.envs.cooperbench.docker import Docker
from simenvs.envs.cooperbench.sandbox import LINK, File, Image, Limits
from simenvs.errors import DataMissingError

ID = "3f1e9c7ab0d24c55a1d0c0d9a0f5b1f0e6b8a3f9d2c4e5f60718293a4b5c6d7e"
NO_ENGINE = (
    "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. "
    "Is the docker daemon running?"
)
NO_IMAGE = (
    "Unable to find image 'none:latest' locally\n"
    "docker: Error response from daemon: pull access denied for none"
)
SCRIPT = """#!/bin/sh
log={folder}
printf '%s\\n' "$#" "$@" >> $log/argv
printf 'end\\n' >> $log/argv
case "$1" in
  info) {info} ;;
  run) {run} ;;
  inspect) test -e $log/dead && echo false || echo true ;;
  attach) cat > /dev/null ;;
  rm) touch $log/removed ;;
  exec) case "$*" in
      *"kill -9 -1"*) exit 137 ;;
      *"tar -x"*) cat > $log/tar; {tar} ;;
      *sleepy*) exec sleep 60 ;;
      *dying*) touch $log/dead; exit 137 ;;
      *stdin*) cat ;;
      *) echo output; echo error >&2; exit 3 ;;
    esac ;;
esac
"""
IMAGE = Image({"/opt/simenvs": "/host/runner"}, {}, {"PYTHONPATH": "/opt/simenvs"}, "none:latest")
Make = Callable[..., Docker]


@pytest.fixture
def engine(tmp_path: Path) -> Make:
    def make(info: str = "echo 27.3.1", run: str = f"echo {ID}", tar: str = ":") -> Docker:
        command = tmp_path / "docker"
        command.write_text(SCRIPT.format(folder=tmp_path, info=info, run=run, tar=tar))
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        return Docker(str(command))

    return make


def calls(folder: Path) -> list[list[str]]:
    lines = (folder / "argv").read_text().split("\nend\n")
    return [part.split("\n")[1:] for part in lines if part]


def told(text: str) -> str:
    return f"echo {json.dumps(text)} >&2; exit 1"


def test_missing(engine: Make) -> None:
    assert engine().missing() is None
    missing = engine(info=told(NO_ENGINE)).missing()
    assert missing is not None
    assert "Cannot connect to the Docker daemon" in missing
    assert "start it" in missing
    # Some versions write to standard error and succeed all the same.
    assert engine(info=f"echo {json.dumps(NO_ENGINE)} >&2; echo").missing() is not None


def test_command_is_not_there(tmp_path: Path) -> None:
    missing = Docker(str(tmp_path / "nothing")).missing()
    assert missing is not None
    assert "is not installed" in missing


def test_what_a_container_may(engine: Make, tmp_path: Path) -> None:
    limits = Limits(memory=256 << 20, processes=50, seconds=7)
    engine().open(IMAGE, limits).close()
    run = next(call for call in calls(tmp_path) if call[0] == "run")
    for option, value in (
        ("--network", "none"), ("--memory", str(256 << 20)), ("--memory-swap", str(256 << 20)),
        ("--pids-limit", "50"), ("--cap-drop", "ALL"), ("--security-opt", "no-new-privileges"),
        ("--ulimit", "cpu=7"), ("--volume", "/host/runner:/opt/simenvs:ro"),
    ):  # fmt: skip
        assert (option, value) in pairwise(run)
    assert "none:latest" in run
    assert "--privileged" not in run


def test_image_is_not_there(engine: Make) -> None:
    with pytest.raises(DataMissingError, match="pull access denied.*docker pull none:latest"):
        engine(run=told(NO_IMAGE)).open(IMAGE, Limits())
    with pytest.raises(DataMissingError, match="has no Docker image"):
        engine().open(Image(), Limits())


def test_write(engine: Make, tmp_path: Path) -> None:
    sandbox = engine().open(IMAGE, Limits())
    sandbox.write({"repo/a.py": File(b"x = 1\n", 0o755), "repo/link": File(b"a.py", LINK)})
    sandbox.close()
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "tar").read_bytes())) as packed:
        (file, link) = packed.getmembers()
        content = packed.extractfile(file)
        assert content is not None
        assert (file.name, file.mode, content.read()) == ("repo/a.py", 0o755, b"x = 1\n")
        assert (link.name, link.issym(), link.linkname) == ("repo/link", True, "a.py")
    extract = next(call for call in calls(tmp_path) if call[0] == "exec" and "tar" in call[-1])
    assert "rm -rf" in extract[-1]


def test_write_is_refused(engine: Make) -> None:
    sandbox = engine(tar="echo 'no space left on device' >&2; exit 2").open(IMAGE, Limits())
    with pytest.raises(DataMissingError, match="no space left on device"):
        sandbox.write({"repo/a.py": File(b"")})
    sandbox.close()


def test_run(engine: Make, tmp_path: Path) -> None:
    sandbox = engine().open(IMAGE, Limits())
    result = sandbox.run(["bash", "-c", "work"], env={"EXTRA": "1"})
    assert (result.returncode, result.ended) == (3, "exit")
    assert sorted(result.output.split()) == ["error", "output"]
    given = next(call for call in calls(tmp_path) if call[-1] == "work")
    assert {"EXTRA=1", "PYTHONPATH=/opt/simenvs", "PYTHONHASHSEED=0"} <= set(given)
    assert given[-4:] == [ID, "bash", "-c", "work"]
    assert sandbox.run(["stdin"], stdin=b"said").output == "said"
    sandbox.close()


def test_what_is_left_running_is_killed(engine: Make, tmp_path: Path) -> None:
    sandbox = engine().open(IMAGE, Limits())
    sandbox.run(["bash", "-c", "work &"])
    after = [call[-1] for call in calls(tmp_path) if call[0] == "exec"]
    assert after == ["work &", "kill -9 -1"]
    sandbox.close()


def test_too_slow(engine: Make) -> None:
    sandbox = engine().open(IMAGE, Limits(seconds=0.1, patience=1))
    assert sandbox.run(["sleepy"]).ended == "time"
    sandbox.close()


def test_a_container_that_dies(engine: Make) -> None:
    sandbox = engine().open(IMAGE, Limits())
    assert sandbox.run(["dying"]).ended == "sandbox"
    again = sandbox.run(["work"])
    assert (again.returncode, again.output, again.ended) == (-1, "", "sandbox")
    sandbox.close()


def test_close(engine: Make, tmp_path: Path) -> None:
    sandbox = engine().open(IMAGE, Limits())
    sandbox.close()
    assert (tmp_path / "removed").exists()
    assert calls(tmp_path)[-1] == ["rm", "--force", ID]
    assert sandbox.run(["work"]).ended == "sandbox"
    sandbox.close()


def test_removed_when_it_is_forgotten(engine: Make, tmp_path: Path) -> None:
    sandbox = engine().open(IMAGE, Limits())
    del sandbox
    assert os.path.exists(tmp_path / "removed")
