"""The tables of the task pages: made from stored results, and accepted by the check of figures."""

import itertools
import json
import math
import random
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import test_figures

BENCH = Path(__file__).parents[1]
BASELINES = ["one-hot", "random"]
MODEL = "masked LM, an hour"


@pytest.fixture
def bench(monkeypatch):
    """Import benchmarks/bench_tasks.py; its relatives stay importable for this test only."""
    monkeypatch.syspath_prepend(str(BENCH))
    for name in ("harness", "roles", "bench_evidence", "bench_tasks"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import bench_tasks

    return bench_tasks


def comparison(bench):
    """A comparison with drawn figures: two seeds of each method, a masked LM, the baselines."""
    rng = random.Random(5)
    runs = [*(f"{name}-{seed}" for name in bench.METHODS for seed in (1, 2)), MODEL, *BASELINES]
    rows = [*(f"{name}-*" for name in bench.METHODS), MODEL, *BASELINES]

    def drawn(run, task, dataset, metric, section=None):
        score = rng.uniform(-0.3, 0.8)
        entry = {"run": run, "task": task, "dataset": dataset, "metric": metric, "score": score}
        entry |= {"low": score - 0.1, "high": score + 0.1, "items_used": 1234, "items_total": 1300}
        entry |= {"unknown": "skip", "shared_items": True}
        if run.endswith("*"):
            entry["deviation"] = rng.uniform(0.001, 0.03)
        return entry if section is None else {**entry, "section": section}

    results = [
        drawn(run, task, *column)
        for task, (_, columns) in bench.TABLES.items()
        for column in columns.values()
        for run in [*runs, *rows[: len(bench.METHODS)]]
    ]
    results += [{**results[0], "shared_items": False}, {**results[0], "section": "capitals"}]
    results += [
        {**drawn(run, "association", "weat", "effect_size", test), "p": rng.uniform(1e-4, 1)}
        for test in ("flowers", "names")
        for run in runs
        if run != "one-hot"
    ]
    tag = {"task": "similarity", "dataset": "ws353", "metric": "spearman", "difference": 0.1}
    names = ["mean_cosine", "isotropy", "hubness", "largest_hub", "length_frequency"]
    measured = [
        {"run": run, "metric": name, "score": rng.uniform(-1, 1), "words": 2000} for run in runs
        for name in names
    ]  # fmt: skip
    for each in measured:
        if each["metric"] == "largest_hub":
            each |= {"score": 41.0, "word": each["run"]}
        elif each["run"] == "one-hot":
            each["score"] = None
    agreements = [
        {"a": a, "b": b, "metric": metric, "score": rng.random(), "low": 0.1, "high": 0.9,
         "words": 2000}
        for a, b in itertools.combinations(runs, 2) for metric in ("neighbors", "procrustes")
    ]  # fmt: skip
    document = {
        "results": results,
        "pairs": [{"a": a, "b": b, **tag} for a, b in itertools.permutations([*runs, *rows], 2)],
        "properties": measured,
        "agreements": agreements,
    }
    return SimpleNamespace(document=document, comparison=SimpleNamespace(rows=rows, runs=runs))


def stored(bench):
    """What the benchmark stores of that comparison."""
    names = [*bench.METHODS, MODEL]
    seconds = {name: {"dimensions": 100 + at} | dict.fromkeys(bench.PROBES, 10.0 + at)
               for at, name in enumerate(names)}  # fmt: skip
    return {
        "runs": {name: {"dimensions": 100} for name in names},
        **bench.reduced(comparison(bench)),
        "probe_seconds": {**seconds, "random": dict.fromkeys(bench.PROBES, 50.0)},
    }


@pytest.fixture
def docs(bench, tmp_path, monkeypatch):
    """Pages with an old table below each mark, and the stored results."""
    document = stored(bench)
    for page, mark, _ in bench.tables(document):
        path = tmp_path / page
        path.parent.mkdir(exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"Text\n\n<!-- figures: not stored ({mark}; bench_tasks.py) -->\n")
            file.write("| | old |\n|---|---|\n| a | .123 |\n\nMore text\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/tasks.json").write_text(json.dumps(document))
    for name in ("BENCHMARKS", "ROOT"):
        monkeypatch.setattr(test_figures, name, tmp_path)
    forget_figures()  # of the pages as they are
    yield tmp_path
    forget_figures()


def forget_figures():
    """Clear what is kept by mark, since the marks of these pages are the same."""
    test_figures.records.cache_clear()
    test_figures.keys_of.cache_clear()


def test_written_tables_agree_with_the_results(bench, docs):
    bench.write_tables(json.loads((docs / "results/tasks.json").read_text()), docs)
    written = [table for page in sorted(docs.rglob("*.md")) for table in test_figures.tables(page)]
    assert len(written) == len(bench.TABLES) + 4
    for table in written:
        assert table.mark.startswith("results/tasks.json#"), table.name
        assert len(table.rows) >= 2, table.name
        assert test_figures.wrong_rows(table) == [], table.name
        assert test_figures.wrong_rows(test_figures.changed(table, random.Random(3))), table.name


def test_tables_are_written_anew_and_leave_other_text(bench, docs):
    document = json.loads((docs / "results/tasks.json").read_text())
    bench.write_tables(document, docs)
    page = docs / "tasks/similarity.md"
    first = page.read_text()
    assert first.startswith(
        "Text\n\n<!-- figures: results/tasks.json#results/similarity/{run} -->\n"
    )
    assert first.endswith(" |\n\nMore text\n")
    assert ".123" not in first
    bench.write_tables(document, docs)
    assert page.read_text() == first
    page.write_text("no table")
    with pytest.raises(SystemExit, match=r"similarity\.md: 0 tables are marked results/tasks"):
        bench.write_tables(document, docs)


def test_what_is_stored_has_a_row_for_each_method(bench):
    kept = stored(bench)
    rows = [*bench.METHODS, MODEL, *BASELINES]
    similarity = kept["results"]["similarity"]
    assert list(dict.fromkeys(each["run"] for each in similarity)) == [
        MODEL,
        *BASELINES,
        *bench.METHODS,
    ]
    assert len(similarity) == len(rows) * 4  # shared items, no sections
    tested = {each["run"] for each in kept["results"]["association"]}
    assert tested == {*(f"{name}-1" for name in bench.METHODS), MODEL, "random"}
    assert {pair[end] for pair in kept["pairs"] for end in "ab"} == {*bench.METHODS, MODEL}
    pairs = {each["pair"] for each in kept["agreements"]}
    assert {"SVD: two seeds", "SVD; skip-gram", f"CBOW; {MODEL}", "SVD; random"} <= pairs
    assert len(pairs) == len(bench.METHODS) + math.comb(len(bench.METHODS) + 2, 2)


def test_numbers_have_no_zero_before_the_point(bench):
    assert [bench.number(value) for value in (0.5, -0.25, 1.25, 10.5, -1e-9, None)] == [
        ".500", "−.250", "1.250", "10.500", ".000", "–",
    ]  # fmt: skip
    assert [bench.p_value(p) for p in (0.00031, 0.48, None)] == [".0003", ".48", ""]


def test_association_tests_are_those_of_the_paper(bench):
    from firth.embed.compare.datasets.association_tests import read_associations

    sizes = [
        [len(each.words) for each in test.lists] for test in read_associations(bench.ASSOCIATIONS)
    ]
    assert sizes == [[25] * 4] * 2 + [[8] * 4] * 3


def test_seconds_of_probes_survive_a_resume(bench, tmp_path):
    path = tmp_path / "seconds.jsonl"
    for line in ("work/a-b/svd-1 on stsa.binary: 14 s on one core",
                 "work/a-b/svd-1 on en_ewt-ud-test: 50 s on one core",
                 "stsa.binary: 3 sentences occur twice"):  # fmt: skip
        bench.SecondsReporter(path).note(line)
    for name in BASELINES:
        for dataset in bench.PROBES:
            bench.SecondsReporter(path).note(f"{name} on {dataset}: 7 s on one core")
    found = bench.probe_seconds(path, {"svd": [Path("work/a-b/svd-1")]})
    assert found["svd"] == {"en_ewt-ud-test": 50, "stsa.binary": 14}
    assert found["one-hot"] == dict.fromkeys(bench.PROBES, 7)
