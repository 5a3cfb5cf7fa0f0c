"""Every command, stopped or refused by the system at some moment of its work.

What stands at the output afterwards is whole or is not there, nothing is told but one line, and
the same command does its work the next time.
"""

import shutil
import signal
import subprocess
import zlib

import pytest

from tests.faults.children import Harm
from tests.faults.conftest import beside, made, whole
from tests.faults.table import ALONE, CALLS, MAKERS, TELLERS

KILLS = 2  # for each command
NOT_RENAMED = "complete, but not yet renamed; move it to "


def moments(name: str, changes: int, count: int) -> list[int]:
    """Some of the moments of a command's work, the same every time, the last third preferred."""
    chosen = [zlib.crc32(f"{name} {n}".encode()) for n in range(count)]
    late = max(changes * 2 // 3, 0)
    return [
        late + number % (changes - late) if n % 2 else number % changes
        for n, number in enumerate(chosen)
    ]


def outputs_are_whole_or_absent(name, place, contents):
    """The claim of this file; of a folder of runs, that each run is."""
    for each in CALLS[name].makes:
        path = place / each
        if name == "learning-curve" and path.is_dir():
            runs = [run for run in path.iterdir() if run.is_dir() and run.suffix != ".partial"]
            assert all(map(whole, runs))
        elif path.exists():
            assert whole(path)
            assert made(path) == contents[each]


def works_again(warm, name, shelf, place, contents):
    """The same command does its work, with --force where some of its outputs stand already."""
    line = [name, *CALLS[name].line(shelf, place)]
    again = warm.run(line, place)
    if again.status and NOT_RENAMED in again.said:  # killed just before the renaming
        for path in place.glob("*.partial"):
            path.rename(path.with_suffix(""))
    elif again.status:
        assert "already exists" in again.said
        again = warm.run([*line, "--force"], place)
        assert again.status == 0, again.said
    assert {each: made(place / each) for each in CALLS[name].makes} == contents


def is_one_line(said: str, last: str) -> None:
    """What was said ends in one line of a kind, and is no traceback."""
    assert "Traceback" not in said
    assert said.rstrip("\n").splitlines()[-1].startswith(last), said


@pytest.mark.parametrize("number", range(KILLS))
@pytest.mark.parametrize("name", MAKERS)
def test_killed_it_leaves_what_is_whole_or_nothing(warm, shelf, place, undisturbed, name, number):
    ended, contents = undisturbed(name)
    moment = moments(name, ended.changes, KILLS)[number]
    line = [name, *CALLS[name].line(shelf, place)]
    killed = warm.run(line, place, Harm(signal=signal.SIGKILL, moment=moment))
    assert killed.status == -signal.SIGKILL
    outputs_are_whole_or_absent(name, place, contents)
    works_again(warm, name, shelf, place, contents)


@pytest.mark.parametrize("name", MAKERS)
def test_killed_in_the_midst_of_writing_it_leaves_what_is_whole_or_nothing(
    warm, shelf, place, undisturbed, name
):
    _, contents = undisturbed(name)
    line = [name, *CALLS[name].line(shelf, place)]
    killed = warm.run(line, place, Harm(largest_file=100, dies_of_it=True))
    assert killed.status == -signal.SIGXFSZ
    outputs_are_whole_or_absent(name, place, contents)
    assert [each for each in CALLS[name].makes if (place / each).is_file()] == []


@pytest.mark.parametrize("name", ALONE)
def test_interrupted_it_says_so_in_one_line(warm, shelf, place, undisturbed, name):
    ended, contents = undisturbed(name)
    moment = moments(name, ended.changes, 3)[2] if CALLS[name].makes else None
    line = [name, *CALLS[name].line(shelf, place)]
    harm = Harm(signal=signal.SIGINT, moment=moment, reading=str(shelf) if moment is None else None)
    interrupted = warm.run(line, place, harm)
    assert interrupted.status == 1
    is_one_line(interrupted.said, "Aborted!")
    outputs_are_whole_or_absent(name, place, contents)
    if not CALLS[name].goes_on:
        assert beside(place, CALLS[name].makes) == []


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_that_cannot_grow_is_told_in_one_line(warm, shelf, place, undisturbed, name):
    _, contents = undisturbed(name)
    line = [name, *CALLS[name].line(shelf, place)]
    refused = warm.run(line, place, Harm(largest_file=1000))
    assert refused.status == 1
    is_one_line(refused.said, "Error: ")
    assert str(place) in refused.said
    outputs_are_whole_or_absent(name, place, contents)
    if not CALLS[name].goes_on:
        assert beside(place, CALLS[name].makes) == []


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_that_lacks_its_last_byte_is_noticed(warm, shelf, place, undisturbed, name):
    _, contents = undisturbed(name)
    line = [name, *CALLS[name].line(shelf, place)]
    assert warm.run(line, place).status == 0
    files = [each for each in place.rglob("*") if each.is_file()]
    outputs = [each for each in files if each.relative_to(place).parts[0] != "cache"]
    largest = max(each.stat().st_size for each in outputs)
    for each in CALLS[name].makes:
        shutil.rmtree(place / each) if (place / each).is_dir() else (place / each).unlink()
    refused = warm.run(line, place, Harm(largest_file=largest - 1))
    assert refused.status == 1
    is_one_line(refused.said, "Error: ")
    outputs_are_whole_or_absent(name, place, contents)


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    """A disk of so many KB, or none that can be written; skipped where nobody may mount one."""
    folders = []

    def mount(options):
        folder = tmp_path_factory.mktemp("disk")
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            pytest.skip("mounting a disk is not allowed here")
        folders.append(folder)
        return folder

    try:
        yield mount
    finally:
        for folder in folders:
            subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("name", MAKERS)
def test_a_full_disk_is_told_in_one_line(warm, shelf, place, mounted, undisturbed, name):
    _, contents = undisturbed(name)
    disk = mounted("size=8k")
    words = CALLS[name].line(shelf, "PLACE")
    line = [name, *(word.replace("PLACE", str(disk)) for word in words)]
    refused = warm.run(line, place)
    assert refused.status == 1
    is_one_line(refused.said, "Error: ")
    assert str(disk) in refused.said
    outputs_are_whole_or_absent(name, disk, contents)
    if not CALLS[name].goes_on:
        assert beside(disk, CALLS[name].makes) == []


@pytest.mark.parametrize("name", [name for name in CALLS if CALLS[name].makes])
@pytest.mark.parametrize("kind", ["a read-only disk", "below a file"])
def test_what_cannot_be_written_to_is_told_in_one_line(
    warm, shelf, place, mounted, tmp_path, name, kind
):
    if kind == "below a file":
        (tmp_path / "file").touch()
    where = mounted("ro") if kind == "a read-only disk" else tmp_path / "file" / "folder"
    words = CALLS[name].line(shelf, "PLACE")
    refused = warm.run([name, *(word.replace("PLACE", str(where)) for word in words)], place)
    assert refused.status == 1
    is_one_line(refused.said, "Error: ")
    assert str(where) in refused.said


@pytest.mark.parametrize("name", TELLERS)
def test_a_cache_that_cannot_be_written_is_no_matter_or_one_line(
    warm, shelf, place, undisturbed, name
):
    told, _ = undisturbed(name)
    line = [name, *CALLS[name].line(shelf, place)]
    ended = warm.run(line, place, Harm(largest_file=0))
    assert "Traceback" not in ended.said
    if ended.status == 0:
        assert ended.printed == told.printed
    else:
        is_one_line(ended.said, "Error: ")
