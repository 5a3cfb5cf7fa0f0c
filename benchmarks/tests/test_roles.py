"""Benchmarks open texts and sets by role, so that no default is chosen on what is reported."""

import ast
import json
import lzma
import re
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1]
SCRIPTS = sorted(path for path in BENCH.glob("*.py") if path.name != "roles.py")
# Paths of real data, however they are put together.
DATA = re.compile(r"shared/|FIRTH_SHARED_DATA|^\S*\.(txt|jsonl|conllu)\.xz$|^(evaluation|corpora)/")


@pytest.fixture
def roles(monkeypatch):
    """Import benchmarks/roles.py; its relatives stay importable for this test only."""
    monkeypatch.syspath_prepend(str(BENCH))
    for name in ("roles", "harness"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import roles

    return roles


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder of real data with BLiMP's form: five paradigms, two pairs each."""
    pairs = [{"UID": name, "pairID": str(n)} for n in range(2) for name in "edcba"]
    path = tmp_path / "data/evaluation/blimp/blimp.jsonl.xz"
    path.parent.mkdir(parents=True)
    with lzma.open(path, "wt") as file:
        file.writelines(json.dumps(pair) + "\n" for pair in pairs)
    monkeypatch.setenv("FIRTH_SHARED_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "data"


def strings_of(tree):
    """Yield the strings of a module that are not docstrings, parts of f-strings among them."""
    owners = ast.Module | ast.ClassDef | ast.FunctionDef
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node.value


def assigned(tree):
    """Return the source of each module-level assignment by name."""
    found = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None:
                found[target.id] = ast.unparse(node.value)
    return found


def opens_data(source):
    """Return the parts of a script that are paths of real data."""
    tree = ast.parse(source)
    paths = [text for text in strings_of(tree) if DATA.search(text)]
    joined = [
        ast.unparse(node.right)
        for node in ast.walk(tree)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    ]
    return paths + [part for part in joined if part == "'shared'"]


def test_paths_of_real_data_are_recognized_in_scripts():
    source = '''
"""Reads ../shared/data/evaluation."""
AA = "corpora/enwiki2015-AA.txt.xz"
folder = ROOT / "shared" / "data"
path = data / f"evaluation/similarity/{name}.tsv"
where = os.environ["FIRTH_SHARED_DATA"]
'''
    assert set(opens_data(source)) == {
        "corpora/enwiki2015-AA.txt.xz",
        "evaluation/similarity/",
        "FIRTH_SHARED_DATA",
        "'shared'",
    }


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_open_real_data_by_role_only(script):
    assert opens_data(script.read_text()) == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_that_open_data_declare_their_role(script):
    tree = ast.parse(script.read_text())
    opened = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "roles"
    } & {"articles", "open_set", "open_text", "set_names", "read_sets"}
    role = assigned(tree).get("ROLE")
    assert (role in ("roles.TUNING", "roles.REPORTING")) == bool(opened)


def test_scripts_that_vary_settings_tune():
    """A script that tries settings lists them as VARIANTS, and chooses on the tuning part."""
    found = {path.stem: assigned(ast.parse(path.read_text())) for path in SCRIPTS}
    varying = {name for name, values in found.items() if "VARIANTS" in values}
    tuning = {name for name, values in found.items() if values.get("ROLE") == "roles.TUNING"}
    assert {"bench_epochs", "bench_quality", "bench_word2vec_quality"} <= varying <= tuning
    default_sets = [name for name in tuning if "default_sets" in (BENCH / f"{name}.py").read_text()]
    assert default_sets == []  # which are for reporting


def test_every_reporting_set_and_text_is_refused_to_a_benchmark_that_chooses(roles, data):
    refused = [name for name, (part, _) in roles.SETS.items() if part is roles.REPORTING]
    assert {"ws353", "simlex999", "questions-words", "bless", "8-8-8", "scws"} < set(refused)
    assert {"ud-ewt-test", "sst2-test", "blimp-reporting", "de/gur350"} < set(refused)
    for name in refused:
        with pytest.raises(roles.RoleError, match=f"^{name}: kept for reporting"):
            roles.open_set(name, role=roles.TUNING)
    texts = [name for name, part in roles.TEXTS.items() if part is roles.REPORTING]
    assert texts == ["enwiki2015-AA", "enwiki2015-AC", "zh-modern"]
    for name in texts:
        with pytest.raises(roles.RoleError, match=f"^{name}: kept for reporting"):
            roles.open_text(name, role=roles.TUNING)


def test_a_refusal_names_what_may_be_opened(roles, data):
    with pytest.raises(roles.RoleError) as caught:
        roles.open_text("enwiki2015-AA", role=roles.TUNING)
    assert str(caught.value) == (
        "enwiki2015-AA: kept for reporting, so no default is chosen on it; use enwiki2015-AB, "
        "wikitext2-train, wikitext2-valid, wikitext2-test, eltec-de"
    )


@pytest.mark.parametrize(
    ("role", "name"),
    [("tuning", "msr"), ("tuning", "sst2-train"), ("reporting", "msr"), ("reporting", "ws353")],
    ids=["tuning-tuning", "tuning-both", "reporting-tuning", "reporting-reporting"],
)
def test_other_sets_are_opened(roles, data, role, name):
    path = data / "evaluation" / roles.SETS[name][1]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert roles.open_set(name, role=roles.Role(role)) == path


def pairs_in(path):
    return list(map(json.loads, path.read_text().splitlines()))


def test_blimp_is_divided_by_the_places_of_its_sorted_paradigms(roles, data):
    parts = {
        role.value: {pair["UID"] for pair in pairs_in(roles.open_set(f"blimp-{role}", role=role))}
        for role in roles.Role
    }
    assert parts == {"tuning": {"b", "d"}, "reporting": {"a", "c", "e"}}


def test_a_part_of_blimp_has_all_its_pairs(roles, data):
    found = pairs_in(roles.open_set("blimp-tuning", role=roles.TUNING))
    assert [(pair["UID"], pair["pairID"]) for pair in found] == [
        ("d", "0"), ("b", "0"), ("d", "1"), ("b", "1"),
    ]  # fmt: skip


def test_missing_data_ends_a_benchmark_with_a_note(roles, data, capsys):
    with pytest.raises(SystemExit) as caught:
        roles.open_set("rg65", role=roles.TUNING)
    assert caught.value.code == 0
    assert "skipped: no " in capsys.readouterr().out


def test_the_tables_name_files_of_the_real_data(roles, shared_data):
    files = {f"evaluation/{file}" for _, file in roles.SETS.values()}
    files |= {f"corpora/{name}.txt.xz" for name in roles.TEXTS}
    assert sorted(file for file in files if not (shared_data / file).exists()) == []
