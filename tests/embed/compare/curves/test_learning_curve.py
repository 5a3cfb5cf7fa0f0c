"""Learning curves of stub methods: training, refusals, documents, tables and pictures."""

import fcntl
import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import new_artifact, write_json
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.curves.api import LearningCurve
from firth.embed.compare.curves.document import to_document
from firth.embed.compare.curves.learning_curve import take_samples
from firth.embed.compare.curves.picture import draw_curve
from firth.embed.compare.curves.runs import Recipe, check_points, lay_out, record_runs, train_points
from firth.embed.compare.curves.table import by_point, print_curve
from firth.embed.compare.report.contents import ReportParts
from firth.embed.compare.report.document import group_results
from firth.embed.compare.report.html.page import make_page
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.open_runs import open_runs
from firth.embed.runs.run import trained
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import read_task
from tests.embed.compare.refusals import message_of

SIZES = [300, 1_000]
PAIRS = "w1\tw2\t9\nw1\tw3\t7\nw2\tw5\t5\nw4\tw1\t3\nw3\tw200\t2\nw150\tw180\t1\nw2\tnowhere\t4\n"
RESULT = [
    "method", "tokens", "documents", "types", "run", "task", "dataset", "metric", "score", "low",
    "high", "items_used", "items_total", "shared_items", "unknown",
]  # fmt: skip
FEW = ["remark", "few"]  # of defined scores: the set has 7 items


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a stub method."""

    seed: int = 1
    width: int = 6
    epochs: int | None = None


def pretend(corpus: Corpus, options: Options, out: Path) -> Path:
    """Write a run of random vectors for all words of the sample."""
    view = corpus.view()
    if len(view.words) < 40:
        raise SettingError(f"`width={options.width}` is too wide for {len(view.words)} words")
    method = out.name.split("-")[0]
    maker = {"command": f"train-{method}", "corpus": corpus.fingerprint, **asdict(options)}
    with new_artifact(out, maker, resume="work") as partial:
        chance = np.random.default_rng([options.seed, len(view.words)])
        matrix = chance.normal(size=(len(view.words), options.width)).astype(np.float32)
        WordVectors(view.words, matrix, counts=view.counts).save(partial)
        settled = {**asdict(options), "epochs": 5}
        write_json(
            partial / "config.json", {"method": method, **settled, "text": corpus.text.to_json()}
        )
        write_json(partial / "provenance.json", {"corpus": corpus.fingerprint})
    return out


RECIPES = {"this": Recipe(Options, pretend), "that": Recipe(Options, pretend)}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    """A hundred documents of 40 tokens with a growing vocabulary."""
    folder = tmp_path_factory.mktemp("corpus")
    words = np.random.default_rng(3).zipf(1.3, size=(100, 40)) % 250
    lines = [" ".join(f"w{word}" for word in line) for line in words]
    (folder / "a.txt").write_text("\n".join(lines))
    request = make_request(
        [folder / "a.txt"], read=ReadOptions(documents="line"), options=BuildOptions(threads=1)
    )
    return encode_corpus(request, folder / "out")


def runs_in(folder):
    """Names of finished and unfinished runs."""
    return {path.name for path in folder.iterdir() if path.is_dir()}


def curve_of(corpus, out, *, recipes=RECIPES, sizes=SIZES, seeds=(1,)):
    """Train all points in a folder, and score them on a set of pairs."""
    points = lay_out(recipes, take_samples(corpus, sizes, 1), seeds, out)
    check_points(points, recipes, out)
    record_runs(points, recipes, out)
    trained, failures = train_points(points, recipes)
    (out / "pairs.tsv").write_text(PAIRS)
    config = CompareConfig(replicates=100)
    read = read_task("similarity", out / "pairs.tsv", config)
    opened = open_runs([str(point.run) for point in trained])
    comparison = compare_vectors(opened.vectors, [read], config, groups=opened.groups)
    return to_document(corpus, trained, comparison, "skip", failures)


@pytest.fixture(scope="module")
def document(corpus, tmp_path_factory):
    """A whole curve."""
    return curve_of(corpus, tmp_path_factory.mktemp("curve"))


@pytest.fixture(scope="module")
def seeded(corpus, tmp_path_factory):
    """Each method with three seeds."""
    return curve_of(corpus, tmp_path_factory.mktemp("seeds"), seeds=(4, 5, 6))


def test_the_whole_corpus_is_the_last_sample(corpus, capsys):
    samples = take_samples(corpus, [300, 1_000, 9_999], 1)
    assert [sample.name for sample in samples] == ["300", "1K", "all"]
    assert samples[-1].corpus is corpus
    assert samples[0].types == len(corpus.sample(300).view().words)
    assert capsys.readouterr().err == (
        f"9999: covers all of {corpus.path} ({corpus.training_tokens:,} training tokens)\n"
    )


def test_sizes_that_select_the_same_documents_are_one_sample(corpus, capsys):
    samples = take_samples(corpus, [290, 300, 301], 1)
    assert [sample.name for sample in samples] == ["290", "all"]
    note = "{}: left out, same documents as 290 (documents are long)\n"
    assert capsys.readouterr().err == note.format(300) + note.format(301)


def test_runs_are_named_by_method_size_and_seed_if_several(corpus, tmp_path):
    samples = take_samples(corpus, SIZES, 1)
    one = lay_out(RECIPES, samples, [7], tmp_path)
    two = lay_out({"this": RECIPES["this"]}, samples[:1], [7, 8], tmp_path)
    assert [point.run.name for point in one] == [
        "this-300", "that-300", "this-1K", "that-1K", "this-all", "that-all",
    ]  # fmt: skip
    assert [point.run.name for point in two] == ["this-300-seed7", "this-300-seed8"]
    assert {point.seed for point in one} == {7}


def test_an_unseeded_method_is_trained_once(corpus, tmp_path):
    recipes = {**RECIPES, "that": Recipe(Options, pretend, seeded=False)}
    document = curve_of(corpus, tmp_path, recipes=recipes, seeds=(4, 5), sizes=[])
    assert runs_in(tmp_path) == {"this-all-seed4", "this-all-seed5", "that-all"}
    assert trained(tmp_path / "that-all").seed == 4
    this, that = document["results"][:2]
    assert (this["seeds"], this["run"]) == (2, f"{tmp_path}/this-all-seed*")
    assert ("seeds" in that, that["run"]) == (False, f"{tmp_path}/that-all")


def test_each_run_is_trained_on_its_own_sample(corpus, tmp_path):
    curve_of(corpus, tmp_path)
    for size, name in ((300, "300"), (1_000, "1K"), (10**9, "all")):
        sample = corpus.sample(size)
        for method in RECIPES:
            run = WordVectors.open(tmp_path / f"{method}-{name}")
            assert run.counts.sum() == sample.training_tokens
            assert list(run.vocabulary) == sample.view().words


def test_finished_runs_are_kept_and_only_missing_ones_are_trained(corpus, tmp_path, capsys):
    first = curve_of(corpus, tmp_path)
    trained = []
    spies = {
        name: Recipe(Options, lambda *all: trained.append(all[2].name) or pretend(*all))
        for name in RECIPES
    }
    capsys.readouterr()
    assert curve_of(corpus, tmp_path, recipes=spies) == first
    assert trained == []
    assert f"{tmp_path}/this-300: kept\n" in capsys.readouterr().err

    curve_of(corpus, tmp_path, recipes=spies, sizes=[300, 2_000])
    assert trained == ["this-2K", "that-2K"]


def test_an_interrupted_curve_resumes(corpus, tmp_path):
    def stop_at_third(corpus, options, out):
        if out.name == "this-1K":
            raise KeyboardInterrupt
        return pretend(corpus, options, out)

    with pytest.raises(KeyboardInterrupt):
        curve_of(corpus, tmp_path, recipes=dict.fromkeys(RECIPES, Recipe(Options, stop_at_third)))
    assert runs_in(tmp_path) == {"this-300", "that-300"}
    before = (tmp_path / "this-300" / "vectors.npy").stat().st_mtime_ns
    curve_of(corpus, tmp_path)
    assert (tmp_path / "this-300" / "vectors.npy").stat().st_mtime_ns == before


def test_a_failed_training_does_not_affect_others(corpus, tmp_path):
    document = curve_of(corpus, tmp_path, sizes=[1, 1_000])
    assert document["failures"] == [
        f"{method}-1: `width=6` is too wide for {len(corpus.sample(1).view().words)} words"
        for method in RECIPES
    ]
    assert document["sizes"] == [1_000, corpus.training_tokens]


def test_an_unwritable_run_stops_the_curve(corpus, tmp_path):
    def in_use(corpus, options, out):
        raise ArtifactError(f"{out}: another process is writing it")

    with pytest.raises(ArtifactError, match="another process is writing it"):
        curve_of(corpus, tmp_path, recipes={"this": Recipe(Options, in_use)})


def refusal(points, recipes, out):
    """The message of a refusal."""
    with pytest.raises(ArtifactError) as refused:
        check_points(points, recipes, out)
    return str(refused.value)


END = "; move it or choose another `out`"


def points_of(corpus, out, *, sample_seed=1, seed=1):
    """Recipes of the method ``this`` only."""
    samples = take_samples(corpus, SIZES, sample_seed)
    return lay_out({"this": RECIPES["this"]}, samples, [seed], out)


def test_runs_with_different_options_seed_or_text_are_refused_first(corpus, tmp_path):
    curve_of(corpus, tmp_path)
    start = f"{tmp_path}/this-300: was made with a different "

    wide = {"this": Recipe(lambda seed: Options(seed=seed, width=9), pretend)}
    assert refusal(points_of(corpus, tmp_path), wide, tmp_path) == f"{start}width{END}"
    long = {"this": Recipe(lambda seed: Options(seed=seed, epochs=50), pretend)}
    assert refusal(points_of(corpus, tmp_path), long, tmp_path) == f"{start}epochs{END}"
    others = points_of(corpus, tmp_path, seed=2)
    assert refusal(others, RECIPES, tmp_path) == f"{start}seed{END}"
    others = points_of(corpus, tmp_path, sample_seed=2)
    assert refusal(others, RECIPES, tmp_path) == f"{start}corpus{END}"


def test_a_run_of_another_command_is_refused(corpus, tmp_path):
    # its epochs may be given or chosen by the method; its files do not record which
    pretend(corpus.sample(300), Options(epochs=5), tmp_path / "this-300")
    points = points_of(corpus, tmp_path)
    refused = f"{tmp_path}/this-300: was not made by learning-curve{END}"
    assert refusal(points, RECIPES, tmp_path) == refused


def test_a_run_under_another_runs_name_is_refused(corpus, tmp_path):
    curve_of(corpus, tmp_path)
    points = points_of(corpus, tmp_path)
    start = f"{tmp_path}/this-300: was made with a different "
    (tmp_path / "this-300").rename(tmp_path / "kept")
    (tmp_path / "that-300").rename(tmp_path / "this-300")
    assert refusal(points, RECIPES, tmp_path) == f"{start}method{END}"
    (tmp_path / "this-300").rename(tmp_path / "that-300")
    pretend(corpus.sample(300), Options(width=9), tmp_path / "this-300")
    assert refusal(points, RECIPES, tmp_path) == f"{start}width{END}"


def test_records_are_written_before_training_and_kept_by_later_commands(corpus, tmp_path):
    def stop(corpus, options, out):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        curve_of(corpus, tmp_path, recipes={"this": Recipe(Options, stop)}, sizes=[300])
    first = json.loads((tmp_path / "runs.json").read_text())
    assert list(first) == ["this-300", "this-all"]
    assert first["this-300"] == {
        "method": "this",
        "corpus": corpus.sample(300).fingerprint,
        "config": {"seed": 1, "width": 6, "epochs": None},
    }
    curve_of(corpus, tmp_path, sizes=[1_000])
    later = json.loads((tmp_path / "runs.json").read_text())
    assert later.keys() - first.keys() == {"that-all", "this-1K", "that-1K"}
    assert later.items() >= first.items()


def test_a_damaged_run_is_refused_before_training(corpus, tmp_path):
    curve_of(corpus, tmp_path, sizes=[])
    vectors = tmp_path / "that-all" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-4])
    assert message_of(ArtifactError, curve_of, corpus, tmp_path, sizes=[300]) == (
        f"{vectors}: checksum mismatch, the file is damaged; recreate that-all"
    )
    assert runs_in(tmp_path) == {"this-all", "that-all"}


@pytest.fixture
def stopped(corpus, tmp_path):
    """A curve interrupted while training this-1K."""

    def stop(corpus, options, out):
        maker = {"command": "train-this", "corpus": corpus.fingerprint, **asdict(options)}
        with new_artifact(out, maker, resume="work") as partial:
            (partial / "half").touch()
            raise KeyboardInterrupt

    recipes = {
        "this": Recipe(Options, lambda *all: (stop if "1K" in str(all[2]) else pretend)(*all))
    }
    with pytest.raises(KeyboardInterrupt):
        curve_of(corpus, tmp_path, recipes=recipes)
    assert runs_in(tmp_path) == {"this-300", "this-1K.partial"}
    return tmp_path / "this-1K.partial"


def test_an_unfinished_run_is_resumed(corpus, stopped):
    check_points(points_of(corpus, stopped.parent), RECIPES, stopped.parent)
    assert (stopped / "half").is_file()
    curve_of(corpus, stopped.parent)
    assert (stopped.parent / "this-1K" / "half").is_file()


@pytest.mark.parametrize(
    ("name", "other"), [("seed", 2), ("corpus", "another"), ("command", "train-that"), ("width", 7)]
)
def test_an_unfinished_run_of_another_training_is_refused_first(corpus, stopped, name, other):
    maker = json.loads((stopped / "maker.json").read_text())
    write_json(stopped / "maker.json", {**maker, name: other})
    said = refusal(points_of(corpus, stopped.parent), RECIPES, stopped.parent)
    name = "method" if name == "command" else name
    assert said == f"{stopped}: was started with a different {name}{END}"
    assert (stopped / "half").is_file()


def test_another_seed_is_refused_if_a_run_is_unfinished(corpus, stopped):
    (stopped.parent / "this-300").rename(stopped.parent / "moved")
    points = points_of(corpus, stopped.parent, seed=2)
    said = refusal(points, RECIPES, stopped.parent)
    assert said == f"{stopped}: was started with a different seed{END}"


def test_an_unfinished_run_without_a_maker_is_refused(corpus, stopped):
    folder, points = stopped.parent, points_of(corpus, stopped.parent)
    records = (folder / "runs.json").read_text()
    write_json(folder / "runs.json", {"this-300": json.loads(records)["this-300"]})
    said = refusal(points, RECIPES, folder)
    assert said == f"{stopped}: was not started by learning-curve{END}"
    (folder / "runs.json").write_text(records)

    (stopped / "maker.json").write_text('{"command": "tr')
    said = refusal(points, RECIPES, folder)
    assert said == f"{stopped}/maker.json: cannot be read; move {stopped} away"
    (stopped / "maker.json").unlink()
    (stopped / ".lock").unlink()
    assert refusal(points, RECIPES, folder) == (
        f"{stopped}: exists and is not a partial artifact; move it or choose another `out`"
    )
    assert (stopped / "half").is_file()


def test_a_run_being_made_by_another_process_is_refused_first(corpus, stopped):
    with open(stopped / ".lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = refusal(points_of(corpus, stopped.parent), RECIPES, stopped.parent)
    assert said == f"{stopped}: another process is writing it; wait for it or choose another `out`"


def test_other_files_and_folders_in_the_way_are_refused_first(corpus, tmp_path):
    points = points_of(corpus, tmp_path)
    (tmp_path / "this-1K").mkdir()
    assert refusal(points, RECIPES, tmp_path) == (
        f"{tmp_path}/this-1K: was not made by learning-curve{END}"
    )
    (tmp_path / "file").write_text("")
    for out in (corpus.path, tmp_path / "file"):
        assert refusal([], RECIPES, out) == (
            f"{out}: not a folder for the runs of a curve; choose another `out`"
        )
    (tmp_path / "runs.json").write_text("[]")
    assert refusal([], RECIPES, tmp_path) == (
        f"{tmp_path}/runs.json: is damaged; choose another `out`"
    )


@pytest.mark.parametrize("name", ["curve.json", "runs.json"])
def test_a_folder_in_place_of_a_curve_file_is_refused_first(tmp_path, name):
    (tmp_path / name).mkdir()
    assert refusal([], RECIPES, tmp_path) == (
        f"{tmp_path}/{name}: not a file, but a curve writes one there{END}"
    )


def test_the_document_describes_every_method_and_size(corpus, document):
    tokens = [corpus.sample(size).training_tokens for size in (*SIZES, 10**9)]
    assert document["sizes"] == tokens
    assert document["methods"] == ["this", "that"]
    assert (document["corpus"], document["fingerprint"]) == (str(corpus.path), corpus.fingerprint)
    for result in document["results"]:
        assert list(result) == RESULT + (FEW if result["score"] is not None else [])
    for metric in ("spearman", "pearson"):
        for shared in (True, False):
            found = [
                (entry["method"], entry["tokens"])
                for entry in document["results"]
                if (entry["metric"], entry["shared_items"]) == (metric, shared)
            ]
            assert found == [
                *((method, n) for n in tokens for method in ("this", "that")),
                ("one-hot", None), ("random", None),
            ]  # fmt: skip
    first = document["results"][0]
    sample = corpus.sample(300)
    assert first["documents"] == sample.training_documents
    assert first["types"] == len(sample.view().words)
    assert first["run"].endswith("/this-300")


def test_the_report_page_marks_scores_on_few_items(document):
    page = make_page({"runs": [], "results": [], "pairs": []}, ReportParts(curve=document))
    defined = [r for r in document["results"] if r["score"] is not None and r["tokens"]]
    n_shared = sum(result["shared_items"] for result in defined)
    assert page.count(" few items</small>") == n_shared == len(defined) // 2 > 0


def test_shared_items_are_those_of_the_smallest_sample(corpus, document):
    shared, own = (
        [
            entry["items_used"]
            for entry in document["results"]
            if entry["method"] == "this" and entry["metric"] == "spearman"
            and entry["shared_items"] == which
        ]
        for which in (True, False)
    )  # fmt: skip
    assert shared == [own[0]] * 3
    assert own == sorted(own)
    assert own[0] < own[-1] == 6


@pytest.mark.slow
def test_seeds_are_one_result_with_their_mean_and_deviation(seeded, corpus, tmp_path):
    entry = seeded["results"][0]
    assert entry["run"].endswith("/this-300-seed*")
    assert entry["seeds"] == 3
    alone = [
        curve_of(corpus, tmp_path / str(seed), seeds=(seed,), sizes=SIZES) for seed in (4, 5, 6)
    ]
    scores = [one["results"][0]["score"] for one in alone]
    assert entry["score"] == pytest.approx(np.mean(scores))
    assert entry["deviation"] == pytest.approx(np.std(scores, ddof=1))
    runs = {result["run"] for result in seeded["results"]}
    assert all("seed*" in run or run in ("one-hot", "random") for run in runs)


def test_the_document_is_json(document):
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_two_sets_of_one_name_are_separate_groups(document):
    twice = {**document, "results": document["results"] * 2}
    assert len(group_results(twice)) == 2 * len(group_results(document)) == 4


def test_sections_are_separate_groups(document):
    results = [{**r, "section": name} for name in ("one", "two") for r in document["results"]]
    groups = group_results({**document, "results": results})
    assert {group.about for group in groups} == {"pairs, one", "pairs, two"}
    n_rows = len(document["methods"]) * len(document["sizes"]) + 2  # of the baselines
    assert {len(rows) for group in groups for rows in (group.results, group.own)} == {n_rows}


def printed(document, capsys):
    """Lines of the printed tables."""
    print_curve(document)
    return capsys.readouterr().out.splitlines()


def test_the_table_has_a_row_per_size_and_a_column_per_method(document, capsys):
    lines = printed(document, capsys)
    group, *_ = group_results(document)
    assert lines[0] == "pairs, spearman (7 items)"
    assert lines[2].split() == ["tokens", "items", "this", "that"]
    for name, results, start in (("all", group.results, 4), ("own", group.own, 7)):
        points = by_point(results)
        for line, tokens in zip(lines[start:], document["sizes"], strict=False):
            this, that = (points[method, tokens] for method in ("this", "that"))
            items = f"{name} {this['items_used']}"
            scores = " +".join(rf"{entry['score']:.3f}~ \[.*\]" for entry in (this, that))
            assert re.match(rf" {tokens:,} +{items} +{scores} *$", line)
    assert lines[-1] == "~ fewer than 30 items, so intervals and tests are rough"
    assert lines[11].startswith("   one-hot undefined, random ")


def test_own_rows_are_left_out_if_all_runs_cover_the_same(corpus, tmp_path, capsys):
    lines = printed(curve_of(corpus, tmp_path, sizes=[]), capsys)
    assert not any(" own " in line for line in lines[:-2])


def test_own_rows_show_the_range_of_items(document, capsys):
    results = [
        {**entry, "items_used": 3} if entry["method"] == "that" else entry
        for entry in document["results"]
    ]
    lines = printed({**document, "results": results}, capsys)
    assert any(re.match(rf" {document['sizes'][-1]:,} +own 3-6 ", line) for line in lines)


def test_tables_fit_100_columns_with_many_methods(seeded, capsys):
    names = [f"method{n}" for n in range(7)]
    results = [
        {**entry, "method": name, "deviation": 0.123}
        for entry in seeded["results"]
        for name in names
        if entry["method"] == "this"
    ]
    lines = printed({**seeded, "methods": names, "results": results}, capsys)
    assert max(map(len, lines)) <= 100
    assert all(any(name in line for line in lines) for name in names)
    assert any(" ±.123 [" in line for line in lines)


def test_missing_runs_are_dashes_and_undefined_scores_are_named(document, capsys):
    first, second, *rest = document["results"]
    undefined = {**second, "score": None, "low": None, "high": None}
    lines = printed({**document, "results": [undefined, *rest]}, capsys)
    assert re.match(rf" {first['tokens']:,} +all {first['items_used']} +- +undefined *$", lines[4])


@pytest.mark.slow
def test_a_curve_is_a_data_frame_tables_and_a_picture(document, tmp_path, monkeypatch, capsys):
    curve = LearningCurve(document, [])
    frames = SimpleNamespace(DataFrame=lambda data, **options: (data, options))
    monkeypatch.setitem(sys.modules, "pandas", frames)
    assert repr(curve) == "<LearningCurve: this, that on 3 sizes>"
    page = curve._repr_html_()
    assert "<caption>pairs, spearman (7 items)</caption>" in page
    assert "<p>~ fewer than 30 items, so intervals and tests are rough</p>" in page
    assert curve.to_pandas() == (document["results"], {})
    curve.show()
    assert capsys.readouterr().out.splitlines() == printed(document, capsys)
    pytest.importorskip("matplotlib")
    curve.draw(str(tmp_path / "curve.svg"))
    assert "</svg>" in (tmp_path / "curve.svg").read_text()
    with pytest.raises(ArtifactError, match="already exists"):
        curve.draw(tmp_path / "curve.svg")
    curve.draw(tmp_path / "curve.svg", force=True)


def test_the_picture_has_a_panel_per_metric_and_a_line_per_method(document, tmp_path):
    pytest.importorskip("matplotlib")
    draw_curve(document, tmp_path / "curve.svg")
    svg = (tmp_path / "curve.svg").read_text()
    assert len(re.findall(r'<g id="axes_\d+">', svg)) == 2
    texts = re.findall(r"<text[^>]*>([^<]*)<", svg)
    few = f"{document['results'][0]['items_used']} of 7 items (few: rough)"
    for text in (few, "pairs, spearman", "pairs, pearson", "this", "that", "random vectors"):
        assert text in texts
    # of each method, in two panels: a marker for each of three sizes, a band; one in the legend
    for color in ("#0072b2", "#d55e00"):
        assert len(re.findall(rf'<use [^>]*style="fill: {color}', svg)) == 2 * (3 + 1) + 1


def test_the_same_curve_gives_the_same_bytes(document, tmp_path):
    pytest.importorskip("matplotlib")
    draw_curve(document, tmp_path / "a.svg")
    draw_curve(document, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_curve_of_one_size_can_be_drawn(corpus, tmp_path):
    pytest.importorskip("matplotlib")
    draw_curve(curve_of(corpus, tmp_path, sizes=[]), tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
