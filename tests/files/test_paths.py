"""What save and load do with permissions, links, pipes and leftovers."""

import os
import signal

import pytest

import polyleaf
from polyleaf.files.storage import ModelFileError

fcntl = pytest.importorskip("fcntl")


@pytest.fixture(scope="module")
def tree():
    return polyleaf.TreeRegressor(max_depth=1).fit([[0.0], [1.0]], [1.0, 2.0])


def test_save_keeps_the_permissions_of_the_file_that_it_replaces(tree, tmp_path):
    path = tmp_path / "tree.polyleaf"
    polyleaf.save(tree, path)
    path.chmod(0o640)
    polyleaf.save(tree, path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_save_follows_a_symbolic_link(tree, tmp_path):
    (tmp_path / "real").mkdir()
    path, link = tmp_path / "real" / "tree.polyleaf", tmp_path / "link.polyleaf"
    link.symlink_to(path)
    polyleaf.save(tree, link)  # to a file that does not exist yet
    polyleaf.save(tree, link)
    assert link.is_symlink()
    assert path.is_file()
    assert polyleaf.load(link).predict([[1.0]]) == 2.0


def test_save_removes_what_a_killed_one_left_and_nothing_else(tree, tmp_path):
    path = tmp_path / "tree.polyleaf"
    stale = tmp_path / f".tree.polyleaf.{'0' * 16}.tmp"
    others = [tmp_path / f".other.{'0' * 16}.tmp", tmp_path / ".tree.polyleaf.tmp"]
    at_work = tmp_path / f".tree.polyleaf.{'1' * 16}.tmp"
    for file in (stale, at_work, *others):
        file.write_bytes(b"part of a model")
    with at_work.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        polyleaf.save(tree, path)
    assert not stale.exists()
    assert at_work.exists()
    assert all(other.exists() for other in others)


@pytest.fixture
def no_wait():
    def end(*_):
        raise TimeoutError("it waits for the other end of a pipe")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("no_wait")
def test_a_named_pipe_is_refused_at_once(tree, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="pipe"):
        polyleaf.load(path)
    with pytest.raises(OSError, match="pipe"):
        polyleaf.save(tree, path)
    assert path.is_fifo()


@pytest.mark.parametrize("name", ["toy.csv", "toy.arff.gz", "TOY.MAT"])
def test_load_of_a_data_file_points_to_the_readers(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n")
    with pytest.raises(ModelFileError, match=r"polyleaf\.datasets\.load"):
        polyleaf.load(tmp_path / name)
