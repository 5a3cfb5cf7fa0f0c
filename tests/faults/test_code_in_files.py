"""Files that would run code where they opened by Python's pickle: none ever is."""

import ast
import functools
import io
import os
import pickle
import zipfile

import numpy as np
import pytest

from tests.faults.table import CALLS

ROOMS = ("corpora", "embed", "pretrain")


class Trap:
    """What makes a file when it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def trapped(mark, kind):
    """A file of a kind that other programs save, with the trap inside."""
    pickled = pickle.dumps(Trap(mark), protocol=2 if kind == "gensim" else 4)
    held = io.BytesIO()
    if kind == "torch":
        with zipfile.ZipFile(held, "w") as archive:
            archive.writestr("archive/data.pkl", pickled)
            archive.writestr("archive/version", "3\n")
    elif kind == "numpy":
        np.save(held, np.array([Trap(mark)], dtype=object), allow_pickle=True)
    elif kind == "numpy archive":
        np.savez(held, vectors=np.array([Trap(mark)], dtype=object))
    else:
        held.write(pickled)
    return held.getvalue()


KINDS = {
    "gensim": "vectors.kv",
    "old gensim": "model.model",
    "torch": "model.pt",
    "numpy": "vectors.npy",
    "numpy archive": "vectors.npz",
}
# every command that takes a RUN or vectors
ASKED = [name for name, call in CALLS.items() if {"run", "mlm"} & set(call.reads)]


def line_on(name, path, shelf, place):
    """The command line of a command with a path in the place of every run."""
    words = CALLS[name].line(shelf, place)
    return [
        name,
        *(str(path) if word in (f"{shelf}/run", f"{shelf}/mlm") else word for word in words),
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ASKED)
def test_a_pickle_in_the_place_of_a_run_is_refused_and_not_opened(warm, shelf, place, name, kind):
    mark, file = place / "opened", place / KINDS[kind]
    file.write_bytes(trapped(mark, kind))
    ended = warm.run(line_on(name, file, shelf, place), place)
    assert not mark.exists(), "the pickle was opened"
    assert ended.status == 1
    assert "Traceback" not in ended.said
    assert ended.said.rstrip("\n").splitlines()[-1].startswith("Error: ")
    assert str(file) in ended.said


@pytest.mark.parametrize("inside", ["vectors.npy", "vectors.npz", "pytorch_model.bin"])
@pytest.mark.parametrize("name", ASKED)
def test_a_pickle_in_a_run_is_refused_and_not_opened(warm, shelf, place, name, inside):
    mark, run = place / "opened", place / "run"
    run.mkdir()
    kinds = {"vectors.npy": "numpy", "vectors.npz": "numpy archive", "pytorch_model.bin": "torch"}
    (run / inside).write_bytes(trapped(mark, kinds[inside]))
    model = '{"model_type": "bert"}' if inside == "pytorch_model.bin" else "{}"
    (run / "config.json").write_text(model)
    (run / "vocabulary.tsv").write_text("word1\t3\n")
    ended = warm.run(line_on(name, run, shelf, place), place)
    assert not mark.exists(), "the pickle was opened"
    assert ended.status == 1
    assert "Traceback" not in ended.said
    assert ended.said.rstrip("\n").splitlines()[-1].startswith("Error: ")
    assert str(run) in ended.said


def test_the_trap_springs_where_a_pickle_is_opened(tmp_path):
    for number, kind in enumerate(KINDS):
        mark, content = tmp_path / str(number), trapped(tmp_path / str(number), kind)
        if kind.startswith("numpy"):
            loaded = np.load(io.BytesIO(content), allow_pickle=True)
            _ = loaded["vectors"] if kind == "numpy archive" else loaded
        elif kind == "torch":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                pickle.loads(archive.read("archive/data.pkl"))  # noqa: S301 - our own
        else:
            pickle.loads(content)  # noqa: S301 - our own
        assert mark.is_dir()


@functools.cache
def nodes(root):
    """Every call and import in the program, and where it is."""
    files = [root / "cli.py", *(file for room in ROOMS for file in (root / room).rglob("*.py"))]
    return [
        (f"{file.relative_to(root)}:{node.lineno}", node)
        for file in sorted(files)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)
    ]


def calls_in(root):
    """Every call: where it is, the dotted name of what is called, the node."""
    return [
        (place, ast.unparse(node.func), node)
        for place, node in nodes(root)
        if isinstance(node, ast.Call)
    ]


def imports_in(root):
    """Every module that the program imports, and where."""
    for place, node in nodes(root):
        if isinstance(node, ast.Import):
            yield from ((name.name, place) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, place


def keyword(node, name):
    """The value of a keyword of a call; None without one."""
    return next((ast.unparse(each.value) for each in node.keywords if each.arg == name), None)


def test_the_program_imports_nothing_that_unpickles(root):
    banned = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml"}
    assert [place for name, place in imports_in(root) if name.partition(".")[0] in banned] == []


def test_numpy_is_always_told_not_to_unpickle(root):
    loads = [
        (place, node) for place, name, node in calls_in(root) if name in ("np.load", "numpy.load")
    ]
    assert loads
    assert [place for place, node in loads if keyword(node, "allow_pickle") != "False"] == []


def test_torch_loads_nothing_but_weights(root):
    loads = [(place, node) for place, name, node in calls_in(root) if name == "torch.load"]
    assert [place for place, node in loads if keyword(node, "weights_only") != "True"] == []


def test_nothing_is_evaluated_or_loaded_by_gensim(root):
    banned = {"eval", "exec", "compile", "KeyedVectors.load", "Word2Vec.load", "pd.read_pickle"}
    assert [place for place, name, _ in calls_in(root) if name in banned] == []


def test_models_of_others_bring_no_code(root):
    told = [
        (place, keyword(node, "trust_remote_code"))
        for place, name, node in calls_in(root)
        if name.endswith("from_pretrained")
    ]
    assert told
    assert [place for place, trust in told if trust not in (None, "False")] == []
