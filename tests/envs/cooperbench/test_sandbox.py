"""What a sandbox shows, what it keeps out, and how it ends."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from simenvs.envs.cooperbench.sandbox import (
    LINK,
    Backend,
    File,
    Image,
    Limits,
    Result,
    Sandbox,
    load_backend,
)
from simenvs.errors import DataMissingError, InvalidInputError, UnknownNameError


def sh(sandbox: Sandbox, command: str, **options) -> Result:
    return sandbox.run(["bash", "-c", command], **options)


def holders() -> int:
    """How many processes hold a sandbox of this process."""
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            found += (
                words[1] == str(os.getpid()) and command.startswith(b"bwrap") and words[0] != "Z"
            )
    return found


def test_commands_share_a_workspace(sandbox: Sandbox) -> None:
    sandbox.write({"repo/a/b.txt": File(b"text"), "repo/run": File(b"#!/bin/sh\necho ran", 0o755)})
    assert sh(sandbox, "cat a/b.txt; ./run") == Result(0, "textran\n")
    assert sh(sandbox, "echo more > c; exit 3") == Result(3, "")
    assert sh(sandbox, "cat c >&2; pwd") == Result(0, "more\n/workspace/repo\n")


def test_links_are_written_last(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.write({"repo/l": File(str(tmp_path).encode(), LINK), "repo/m/x": File(b"x")})
    with pytest.raises(FileExistsError):
        sandbox.write({"repo/m": File(str(tmp_path).encode(), LINK), "repo/m/y": File(b"y")})
    assert list(tmp_path.iterdir()) == []


def test_standard_input(sandbox: Sandbox) -> None:
    assert sh(sandbox, "wc -c", stdin=b"x" * 300_000).output.strip() == "300000"
    assert sh(sandbox, "head -c 3", stdin=b"x" * 300_000).output == "xxx"


def test_invalid_output_is_replaced(sandbox: Sandbox) -> None:
    assert sh(sandbox, r"printf 'a\xffb'").output == "a�b"


def test_the_host_is_out_of_reach(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    told = sh(
        sandbox,
        f"cat {tmp_path}/secret; ls /root /home; touch /usr/x /x /dev/x /etc/x; "
        "echo 1 > /proc/sys/kernel/panic; mount -o remount,rw /usr; mount -t tmpfs t /mnt; "
        "unshare --user true; mkdir /sys/x",
    )
    assert "secret\n" not in told.output.replace(str(tmp_path), "")
    assert sh(sandbox, "test -e /usr/x -o -e /x -o -e /dev/x -o -e /etc/x").returncode == 1
    assert sh(sandbox, "unshare --user true").returncode != 0
    assert sh(sandbox, "grep CapEff /proc/self/status").output.split() == ["CapEff:", "0" * 16]


def test_no_network(sandbox: Sandbox) -> None:
    reach = "import socket; socket.create_connection(('1.1.1.1', 53), 1)"
    told = sh(sandbox, f'python3 -c "{reach}" || cat /proc/net/dev')
    assert "eth" not in told.output
    assert sh(sandbox, "(echo > /dev/tcp/1.1.1.1/53) 2>&1").returncode != 0


def test_other_processes_are_invisible(sandbox: Sandbox) -> None:
    names = sh(sandbox, "ls /proc").output.split()
    assert str(os.getpid()) not in [name for name in names if name.isdigit()] or os.getpid() < 10
    assert sh(sandbox, f"kill -9 {os.getppid()} 2>&1").returncode != 0


def test_surroundings_are_fixed(sandbox: Sandbox) -> None:
    told = sh(
        sandbox, "echo $LC_ALL $TZ $PYTHONHASHSEED $GIT_COMMITTER_DATE $HOME; hostname; id -u"
    )
    assert told.output == "C.UTF-8 UTC 0 2000-01-01T00:00:00Z /tmp\nsandbox\n1000\n"
    assert "SECRET" not in sh(sandbox, "env").output


def test_environment_of_the_caller_stays_outside(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "SECRET")
    assert "SECRET" not in sh(sandbox, "env; cat /proc/1/environ | tr '\\0' '\\n'").output


@pytest.mark.parametrize(
    ("command", "ended"),
    [
        ("while :; do :; done", "time"),
        ("sleep 60", "time"),
        ("yes", "output"),
        (":(){ :|:& };: ; wait", "processes"),
        ("for i in $(seq 9); do head -c 9000000 /dev/zero > f$i; done", "disk"),
        ("kill -9 $$", "exit"),
    ],
)
def test_limits_have_names(sandbox: Sandbox, command: str, ended: str) -> None:
    result = sh(sandbox, command)
    if ended == "processes" and result.ended in ("time", "exit"):
        pytest.skip("control groups can't be written here")
    assert result.ended == ended
    assert sh(sandbox, "rm -f f*; echo fine") == Result(0, "fine\n")


def test_memory(sandbox: Sandbox) -> None:
    told = sh(sandbox, "head -c 600M /dev/zero | tail | wc -c; exit ${PIPESTATUS[1]}")
    assert told.ended == "memory" or told.returncode != 0
    assert sh(sandbox, "echo fine").output == "fine\n"


def test_background_processes_end_with_their_command(sandbox: Sandbox) -> None:
    assert (
        sh(sandbox, "(sleep 50; echo late > late) & setsid sleep 51 & echo now").output == "now\n"
    )
    assert sh(sandbox, "ls /proc | grep -c '^[0-9]*$'").output.strip() in ("4", "5")
    assert "sleep" not in sh(sandbox, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").output


def test_killing_everything_spares_the_sandbox(sandbox: Sandbox) -> None:
    sh(sandbox, "echo kept > x; kill -9 1; kill -9 -1")
    assert sh(sandbox, "cat x").output == "kept\n"


def test_a_dead_sandbox_is_a_result(backend: Backend) -> None:
    sandbox = backend.open(Image(), Limits())
    threading.Timer(0.2, sandbox.close).start()
    assert sh(sandbox, "sleep 30").ended == "sandbox"
    assert sh(sandbox, "echo on") == Result(-1, "", "sandbox")


def test_nothing_is_left(backend: Backend) -> None:
    before = holders()
    sandbox = backend.open(Image(), Limits())
    sh(sandbox, "sleep 40 & echo x > x")
    assert holders() == before + 1
    sandbox.close()
    sandbox.close()
    assert holders() == before
    sandbox = backend.open(Image(), Limits())
    del sandbox
    gc.collect()
    assert holders() == before


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_after_a_crash(backend: Backend, end: signal.Signals) -> None:
    script = textwrap.dedent(
        """
        from simenvs.envs.cooperbench.sandbox import Image, Limits, load_backend
        sandbox = load_backend("bwrap").open(Image(), Limits())
        print(sandbox._pid, flush=True)
        sandbox.run(["bash", "-c", "sleep 77"])
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        inside = int(process.stdout.readline())
        process.send_signal(end)
        process.wait(20)
    watch = os.pidfd_open(inside) if Path(f"/proc/{inside}").exists() else None
    if watch is not None:
        import select

        assert select.select([watch], [], [], 10)[0], "the sandbox lives on"
        os.close(watch)


def test_backends_are_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="bwrap"):
        load_backend("brwap")
    with pytest.raises(InvalidInputError, match="unsafe=True"):
        load_backend("process")
    with pytest.warns(UserWarning, match="without any isolation"):
        assert load_backend("process", unsafe=True).name == "process"


def test_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from simenvs.envs.cooperbench import bubblewrap

    monkeypatch.setattr(bubblewrap, "_missing", bubblewrap._missing.__wrapped__)
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda tool: None)
    with pytest.raises(DataMissingError, match="apt-get install bubblewrap"):
        load_backend("bwrap")


@pytest.mark.parametrize("name", ["seconds", "memory", "processes", "disk", "output", "patience"])
def test_limits_out_of_range(name: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        Limits(**{name: 0})


def test_process_sandboxes_keep_limits_and_leave_nothing() -> None:
    with pytest.warns(UserWarning, match="without any isolation"):
        backend = load_backend("process", unsafe=True)
    sandbox = backend.open(Image(), Limits(seconds=1, patience=1, output=1000))
    sandbox.write({"repo/a": File(b"text\n"), "repo/l": File(b"a", LINK)})
    assert sh(sandbox, "cat l") == Result(0, "text\n")
    assert sh(sandbox, "sleep 9").ended == "time"
    assert sh(sandbox, "yes").ended == "output"
    folder = Path(sh(sandbox, "cd ..; pwd").output.strip())
    assert sh(sandbox, f"cat /workspace/repo/a; ls {folder}").output.startswith("text")
    sandbox.close()
    assert not folder.exists()
    assert sh(sandbox, "echo on").ended == "sandbox"
