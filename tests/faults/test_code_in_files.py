"""Files that would run code if they were unpickled: none ever is."""

import ast
import functools
import io
import os
import pickle
import zipfile

import numpy as np
import pytest

from tests.faults.table import CALLS
from tests.source import FILES, parsed


class Trap:
    """An object that creates a folder when it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def trapped(mark, kind):
    """Return a file as other programs save it, with the trap inside."""
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
VECTOR_COMMANDS = [name for name, call in CALLS.items() if {"run", "mlm"} & set(call.reads)]


def line_on(name, path, inputs, workdir):
    """Return the arguments of a command with every run replaced by a path."""
    words = CALLS[name].line(inputs, workdir)
    return [
        name,
        *(str(path) if word in (f"{inputs}/run", f"{inputs}/mlm") else word for word in words),
    ]


def assert_refused_unopened(server, inputs, workdir, path, mark):
    """Assert that every command refuses a file or a run in one line, and does not unpickle it."""
    lines = [line_on(name, path, inputs, workdir) for name in VECTOR_COMMANDS]
    results = server.call("tests.faults.damage:run_lines", lines, workdir=workdir)
    assert not mark.exists(), "the pickle was opened"
    for name, (status, _, stderr, uncaught) in zip(VECTOR_COMMANDS, results, strict=True):
        assert (status, uncaught) == (1, ""), name
        assert stderr.rstrip("\n").splitlines()[-1].startswith("Error: "), name
        assert str(path) in stderr, name


@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_instead_of_a_run_is_refused_unopened(server, inputs, workdir, kind):
    mark, file = workdir / "opened", workdir / KINDS[kind]
    file.write_bytes(trapped(mark, kind))
    assert_refused_unopened(server, inputs, workdir, file, mark)


@pytest.mark.parametrize("inside", ["vectors.npy", "vectors.npz", "pytorch_model.bin"])
def test_a_pickle_in_a_run_is_refused_unopened(server, inputs, workdir, inside):
    mark, run = workdir / "opened", workdir / "run"
    run.mkdir()
    kinds = {"vectors.npy": "numpy", "vectors.npz": "numpy archive", "pytorch_model.bin": "torch"}
    (run / inside).write_bytes(trapped(mark, kinds[inside]))
    model = '{"model_type": "bert"}' if inside == "pytorch_model.bin" else "{}"
    (run / "config.json").write_text(model)
    (run / "vocabulary.tsv").write_text("word1\t3\n")
    assert_refused_unopened(server, inputs, workdir, run, mark)


def test_the_trap_works(tmp_path):
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
    """Return every call and import in the program with its location."""
    return [
        (f"{file.relative_to(root)}:{node.lineno}", node)
        for file in FILES
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Call | ast.Import | ast.ImportFrom)
    ]


def calls_in(root):
    """Return every call: location, dotted name and node."""
    return [
        (location, ast.unparse(node.func), node)
        for location, node in nodes(root)
        if isinstance(node, ast.Call)
    ]


def imports_in(root):
    """Yield every imported module and the location of the import."""
    for location, node in nodes(root):
        if isinstance(node, ast.Import):
            yield from ((name.name, location) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, location


def keyword(node, name):
    """Return the source of a call's keyword argument, or None."""
    return next((ast.unparse(each.value) for each in node.keywords if each.arg == name), None)


@pytest.mark.slow
def test_the_program_imports_nothing_that_unpickles(root):
    banned = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml"}
    assert [
        location for name, location in imports_in(root) if name.partition(".")[0] in banned
    ] == []


def test_numpy_never_unpickles(root):
    loads = [
        (location, node)
        for location, name, node in calls_in(root)
        if name in ("np.load", "numpy.load")
    ]
    assert loads
    assert [location for location, node in loads if keyword(node, "allow_pickle") != "False"] == []


def test_torch_loads_only_weights(root):
    loads = [(location, node) for location, name, node in calls_in(root) if name == "torch.load"]
    assert [location for location, node in loads if keyword(node, "weights_only") != "True"] == []


def test_nothing_is_evaluated_or_loaded_by_gensim(root):
    banned = {"eval", "exec", "compile", "KeyedVectors.load", "Word2Vec.load", "pd.read_pickle"}
    assert [location for location, name, _ in calls_in(root) if name in banned] == []


def test_remote_code_of_models_is_never_trusted(root):
    trust = [
        (location, keyword(node, "trust_remote_code"))
        for location, name, node in calls_in(root)
        if name.endswith("from_pretrained")
    ]
    assert trust
    assert [location for location, value in trust if value not in (None, "False")] == []
