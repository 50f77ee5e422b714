import os
import signal
import subprocess
import sys

import pytest

from simenvs.episode import Episode
from simenvs.errors import JournalError
from simenvs.journal import Journal, read_journal
from simenvs.types import StopReason

RUN = {"env": "e", "options": {}}


def episode(seed):
    return Episode("e", "t", seed, None, {}, (), {"a": 0.5}, StopReason.COMPLETED)


def test_write_and_read(tmp_path):
    path = tmp_path / "folder" / "journal.jsonl"
    journal = Journal(path, RUN)
    for seed in range(3):
        journal.append(episode(seed))
    assert list(journal.episodes()) == [episode(seed) for seed in range(3)]
    journal.close()
    again = Journal(path, RUN)
    again.append(episode(3))
    again.close()
    assert [e.seed for e in read_journal(path)] == [0, 1, 2, 3]


def test_a_line_cut_short_is_dropped_wherever_it_is_cut(tmp_path):
    whole = tmp_path / "whole.jsonl"
    journal = Journal(whole, RUN)
    journal.append(episode(0))
    size = whole.stat().st_size
    journal.append(episode(1))
    journal.close()
    data = whole.read_bytes()
    for cut in range(1, len(data)):
        path = tmp_path / "cut.jsonl"
        path.write_bytes(data[:cut])
        kept = [e.seed for e in read_journal(path)]
        journal = Journal(path, RUN)
        assert [e.seed for e in journal.episodes()] == kept == ([0] if cut >= size else [])
        journal.append(episode(5))
        journal.close()
        assert [e.seed for e in read_journal(path)] == [*kept, 5]


def test_another_run_is_refused(tmp_path):
    path = tmp_path / "journal.jsonl"
    Journal(path, RUN).close()
    with pytest.raises(JournalError, match=r"another run \(env: there 'e', here 'f'\)"):
        Journal(path, {**RUN, "env": "f"})


def test_two_writers_are_refused(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl", RUN)
    with pytest.raises(JournalError, match="written by another process"):
        Journal(tmp_path / "journal.jsonl", RUN)
    journal.close()


def test_other_files_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes\nmore notes\n")
    with pytest.raises(JournalError, match="does not start like a journal"):
        Journal(path, RUN)
    assert path.read_text() == "my notes\nmore notes\n"


def test_damage_names_the_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, RUN)
    journal.append(episode(0))
    journal.close()
    with path.open("a") as file:
        file.write("rubbish\n")
    with pytest.raises(JournalError, match="line 3: not JSON"):
        list(read_journal(path))
    with pytest.raises(JournalError, match="can't read journal"):
        list(read_journal(tmp_path / "missing.jsonl"))


PROGRAM = """
import sys, simenvs
from simenvs.testing import Script
for episode in simenvs.collect(
    "Persuasion-VS-v0", {"persuader": Script("Hello.", "Would you give 50 cents?")}, range(400),
    journal=sys.argv[1],
):
    pass
print("done", flush=True)
"""


@pytest.mark.parametrize("size", [1, 20_000, 300_000])
def test_killed_at_any_point_nothing_is_lost_or_repeated(tmp_path, size):
    path = tmp_path / "journal.jsonl"
    command = [sys.executable, "-c", PROGRAM, str(path)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE)
    while not path.exists() or path.stat().st_size < size:
        assert running.poll() is None
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    before = list(read_journal(path))
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stdout == "done\n"
    after = list(read_journal(path))
    assert after[: len(before)] == before
    assert sorted(e.seed for e in after) == list(range(400))
    untouched = tmp_path / "untouched.jsonl"
    subprocess.run([*command[:-1], str(untouched)], check=True, capture_output=True)
    by_seed = {e.seed: e.to_json() for e in read_journal(untouched)}
    assert by_seed == {e.seed: e.to_json() for e in after}


def test_where_a_model_is_reached_may_change_on_resuming(tmp_path):
    run = {
        "env": "x",
        "simulator": {"model": "m", "base_url": "http://a", "model_options": {"timeout": 1}},
    }
    Journal(tmp_path / "j.jsonl", run).close()
    moved = {"env": "x", "simulator": {"model": "m", "base_url": "http://b", "model_options": {}}}
    Journal(tmp_path / "j.jsonl", moved).close()
    with pytest.raises(JournalError, match="another run"):
        Journal(tmp_path / "j.jsonl", {"env": "x", "simulator": {"model": "n"}})
