"""Learning curves of stub methods: training, refusals, documents, tables and pictures."""

import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock

from firth.corpora.artifacts.artifact import new_artifact, write_json
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.curves.api import LearningCurve, make_curve
from firth.embed.compare.curves.learning_curve import CurveConfig, take_samples
from firth.embed.compare.curves.picture import draw_curve
from firth.embed.compare.curves.runs import check_points, lay_out, methods_of
from firth.embed.compare.curves.table import by_point, print_curve
from firth.embed.compare.report.document import group_results
from firth.embed.registry import METHODS
from firth.embed.runs.run import trained
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import read_task
from tests.embed.compare.refusals import message_of

PAIRS = "w1\tw2\t9\nw1\tw3\t7\nw2\tw5\t5\nw4\tw1\t3\nw3\tw200\t2\nw150\tw180\t1\nw2\tnowhere\t4\n"


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
        WordVectors(view.words, matrix, counts=view.counts).write(partial)
        settled = {**asdict(options), "epochs": 5}
        write_json(
            partial / "config.json", {"method": method, **settled, "text": corpus.text.to_json()}
        )
        write_json(partial / "provenance.json", {"corpus": corpus.fingerprint})
    return out


def stub(train=pretend, config=Options, seeded=True):
    """A method as the registry has it."""
    return SimpleNamespace(config_class=lambda: config, train_function=lambda: train, seeded=seeded)


@pytest.fixture(scope="module", autouse=True)
def _methods():
    """Two stub methods in the registry."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, "this", stub())
        patch.setitem(METHODS, "that", stub())
        yield


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


def curve_of(corpus, out, methods="this,that", sizes="300,1000", **options):
    """Train all points in a folder, and score them on a set of pairs."""
    config = CurveConfig(methods=methods, sizes=sizes, **options)
    comparing = CompareConfig(replicates=100)
    out.mkdir(exist_ok=True)
    (out / "pairs.tsv").write_text(PAIRS)
    tasks = [read_task("similarity", out / "pairs.tsv", comparing)]
    return make_curve(corpus, out, config, methods_of(config), tasks, comparing)


WHOLE = "1M"  # leaves the whole corpus as the only sample


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a whole curve."""
    return tmp_path_factory.mktemp("curve")


@pytest.fixture(scope="module")
def document(corpus, folder):
    """A whole curve."""
    return curve_of(corpus, folder)


@pytest.fixture(scope="module")
def seeded(corpus, tmp_path_factory):
    """Each method with three seeds."""
    return curve_of(corpus, tmp_path_factory.mktemp("seeds"), sizes=WHOLE, seeds=3, seed=4)


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


def points_of(corpus, out, methods="this", sizes=(300, 1_000), *, sample_seed=1, **options):
    """The points of a curve."""
    config = CurveConfig(methods=methods, **options)
    return lay_out(methods_of(config), take_samples(corpus, sizes, sample_seed), out)


def test_runs_are_named_by_method_size_and_seed_if_several(corpus, tmp_path):
    one = points_of(corpus, tmp_path, "this, that", seed=7)
    two = points_of(corpus, tmp_path, sizes=[300], seed=7, seeds=2)
    assert [point.run.name for point in one] == [
        "this-300", "that-300", "this-1K", "that-1K", "this-all", "that-all",
    ]  # fmt: skip
    assert {point.seed for point in one} == {7}
    assert [(point.run.name, point.seed) for point in two] == [
        (f"this-{size}-seed{seed}", seed) for size in ("300", "all") for seed in (7, 8)
    ]


def test_the_svd_has_one_seed():
    seeds = methods_of(CurveConfig(methods="svd, cbow", seeds=2, seed=5))
    assert seeds == {"svd": range(5, 6), "cbow": range(5, 7)}


def test_an_unseeded_method_is_trained_once(corpus, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "that", stub(seeded=False))
    document = curve_of(corpus, tmp_path, seeds=2, seed=4, sizes=WHOLE)
    assert runs_in(tmp_path) == {"this-all-seed4", "this-all-seed5", "that-all"}
    assert trained(tmp_path / "that-all").seed == 4
    this, that = document["results"][:2]
    assert (this["seeds"], this["run"]) == (2, f"{tmp_path}/this-all-seed*")
    assert ("seeds" in that, that["run"]) == (False, f"{tmp_path}/that-all")


@pytest.mark.usefixtures("document")
def test_each_run_is_trained_on_its_own_sample(corpus, folder):
    for size, name in ((300, "300"), (1_000, "1K"), (10**9, "all")):
        sample = corpus.sample(size)
        for method in ("this", "that"):
            run = WordVectors.open(folder / f"{method}-{name}")
            assert run.counts.sum() == sample.training_tokens
            assert list(run.vocabulary) == sample.view().words


def test_an_interrupted_curve_trains_only_what_is_missing(corpus, tmp_path, monkeypatch, capsys):
    started = []

    def stop_at_third(corpus, config, out):
        started.append(out.name)
        if len(started) == 3:
            raise KeyboardInterrupt
        return pretend(corpus, config, out)

    for name in ("this", "that"):
        monkeypatch.setitem(METHODS, name, stub(stop_at_third))
    with pytest.raises(KeyboardInterrupt):
        curve_of(corpus, tmp_path)
    assert runs_in(tmp_path) == {"this-300", "that-300"}

    whole = curve_of(corpus, tmp_path)
    assert f"{tmp_path}/this-300: kept\n" in capsys.readouterr().err
    assert curve_of(corpus, tmp_path) == whole
    assert started == [
        "this-300",
        "that-300",
        "this-1K",
        "this-1K",
        "that-1K",
        "this-all",
        "that-all",
    ]
    curve_of(corpus, tmp_path, sizes="300,2000")
    assert started[7:] == ["this-2K", "that-2K"]


def test_a_failed_training_does_not_affect_others_but_an_unwritable_run_does(
    corpus, tmp_path, monkeypatch
):
    document = curve_of(corpus, tmp_path, sizes="1,1000")
    assert document["failures"] == [
        f"{method}-1: `width=6` is too wide for {len(corpus.sample(1).view().words)} words"
        for method in ("this", "that")
    ]
    assert document["sizes"] == [1_000, corpus.training_tokens]

    def in_use(corpus, config, out):
        raise ArtifactError(f"{out}: another process is writing it")

    monkeypatch.setitem(METHODS, "this", stub(in_use))
    with pytest.raises(ArtifactError, match="another process is writing it"):
        curve_of(corpus, tmp_path / "other", "this")


END = "; move it or choose another `out`"


def refusal(points, out):
    """The message of a refusal."""
    return message_of(ArtifactError, check_points, points, out)


@dataclass(frozen=True, kw_only=True)
class Wide(Options):
    """Another width."""

    width: int = 9


@dataclass(frozen=True, kw_only=True)
class Long(Options):
    """Given rather than chosen epochs."""

    epochs: int | None = 50


@pytest.mark.usefixtures("document")
@pytest.mark.parametrize(
    ("name", "config", "options"),
    [
        ("width", Wide, {}),
        ("epochs", Long, {}),
        ("seed", Options, {"seed": 2}),
        ("corpus", Options, {"sample_seed": 2}),
    ],
)
def test_runs_with_different_options_seed_or_text_are_refused_first(
    corpus, folder, monkeypatch, name, config, options
):
    monkeypatch.setitem(METHODS, "this", stub(config=config))
    said = refusal(points_of(corpus, folder, **options), folder)
    assert said == f"{folder}/this-300: was made with a different {name}{END}"


def test_a_run_of_another_method_or_width_is_refused(corpus, tmp_path):
    points, run = points_of(corpus, tmp_path), tmp_path / "this-300"
    curve_of(corpus, tmp_path, sizes="300")
    run.rename(tmp_path / "kept")
    (tmp_path / "that-300").rename(run)
    assert refusal(points, tmp_path) == f"{run}: was made with a different method{END}"
    run.rename(tmp_path / "that-300")
    pretend(corpus.sample(300), Options(width=9), run)
    assert refusal(points, tmp_path) == f"{run}: was made with a different width{END}"


def test_a_damaged_run_is_refused_before_training(corpus, tmp_path):
    curve_of(corpus, tmp_path, sizes=WHOLE)
    vectors = tmp_path / "that-all" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-4])
    assert message_of(ArtifactError, curve_of, corpus, tmp_path, sizes="300") == (
        f"{vectors}: checksum mismatch, the file is damaged; recreate that-all"
    )
    assert runs_in(tmp_path) == {"this-all", "that-all"}


@pytest.fixture
def stopped(corpus, tmp_path, monkeypatch):
    """A curve interrupted while training this-1K."""

    def stop(corpus, config, out):
        if "1K" not in out.name:
            return pretend(corpus, config, out)
        maker = {"command": "train-this", "corpus": corpus.fingerprint, **asdict(config)}
        with new_artifact(out, maker, resume="work") as partial:
            (partial / "half").touch()
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setitem(METHODS, "this", stub(stop))
        curve_of(corpus, tmp_path, "this")
    assert runs_in(tmp_path) == {"this-300", "this-1K.partial"}
    return tmp_path / "this-1K.partial"


def test_an_unfinished_run_is_resumed(corpus, stopped):
    check_points(points_of(corpus, stopped.parent), stopped.parent)
    assert (stopped / "half").is_file()
    curve_of(corpus, stopped.parent)
    assert (stopped.parent / "this-1K" / "half").is_file()


def test_an_unfinished_run_of_another_training_is_refused_first(corpus, stopped):
    folder = stopped.parent
    start, points = f"{stopped}: was started with a different ", points_of(corpus, folder)
    maker = json.loads((stopped / "maker.json").read_text())
    others = {"seed": 2, "corpus": "another", "command": "train-that", "width": 7}
    for name, other in others.items():
        write_json(stopped / "maker.json", {**maker, name: other})
        name = "method" if name == "command" else name
        assert refusal(points, folder) == f"{start}{name}{END}"
    write_json(stopped / "maker.json", maker)
    (folder / "this-300").rename(folder / "moved")
    assert refusal(points_of(corpus, folder, seed=2), folder) == f"{start}seed{END}"
    assert (stopped / "half").is_file()


def test_an_unfinished_run_in_use_or_without_a_maker_is_refused(corpus, stopped):
    folder, points = stopped.parent, points_of(corpus, stopped.parent)
    with FileLock(f"{stopped}.lock"):
        assert refusal(points, folder) == (
            f"{stopped}: another process is writing it; wait for it or choose another `out`"
        )
    (stopped / "maker.json").unlink()
    assert refusal(points, folder) == (
        f"{stopped}: exists and is not a partial artifact; move it or choose another `out`"
    )
    assert (stopped / "half").is_file()


def test_other_files_and_folders_in_the_way_are_refused_first(corpus, tmp_path):
    run, file = tmp_path / "this-1K", tmp_path / "file"
    run.mkdir()
    said = refusal(points_of(corpus, tmp_path), tmp_path)
    assert said == f"{run}: not a run that was trained{END}"
    file.write_text("")
    for out in (corpus.path, file):
        said = f"{out}: not a folder for the runs of a curve; choose another `out`"
        assert refusal([], out) == said


def test_the_document_describes_every_method_and_size(corpus, document):
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    tokens = [corpus.sample(size).training_tokens for size in (300, 1_000, 10**9)]
    assert document["sizes"] == tokens
    assert document["methods"] == ["this", "that"]
    assert (document["corpus"], document["fingerprint"]) == (str(corpus.path), corpus.fingerprint)
    for result in document["results"]:
        assert list(result)[:5] == ["method", "tokens", "documents", "types", "run"]
        undefined = result["score"] is None
        assert (undefined, not undefined) == ("reason" in result, "few" in result)
    rows = [(method, n) for n in tokens for method in ("this", "that")]
    for metric in ("spearman", "pearson"):
        for shared in (True, False):
            found = [
                (entry["method"], entry["tokens"])
                for entry in document["results"]
                if (entry["metric"], entry["shared_items"]) == (metric, shared)
            ]
            assert found == [*rows, ("one-hot", None), ("random", None)]
    first, sample = document["results"][0], corpus.sample(300)
    assert first["documents"] == sample.training_documents
    assert first["types"] == len(sample.view().words)
    assert first["run"].endswith("/this-300")


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
    assert entry["run"].endswith("/this-all-seed*")
    assert entry["seeds"] == 3
    alone = [curve_of(corpus, tmp_path / str(seed), "this", WHOLE, seed=seed) for seed in (4, 5, 6)]
    scores = [one["results"][0]["score"] for one in alone]
    assert entry["score"] == pytest.approx(np.mean(scores))
    assert entry["deviation"] == pytest.approx(np.std(scores, ddof=1))
    runs = {result["run"] for result in seeded["results"]}
    assert all("seed*" in run or run in ("one-hot", "random") for run in runs)


def test_sets_of_one_name_and_sections_are_separate_groups(document):
    twice = {**document, "results": document["results"] * 2}
    assert len(group_results(twice)) == 2 * len(group_results(document)) == 4
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


def test_missing_runs_are_dashes_undefined_scores_are_named_and_items_a_range(document, capsys):
    first, second, *rest = document["results"]
    undefined = {**second, "score": None, "low": None, "high": None}
    lines = printed({**document, "results": [undefined, *rest]}, capsys)
    assert re.match(rf" {first['tokens']:,} +all {first['items_used']} +- +undefined *$", lines[4])
    fewer = [{**each, "items_used": 3} if each["method"] == "that" else each for each in rest]
    lines = printed({**document, "results": [first, second, *fewer]}, capsys)
    assert any(re.match(rf" {document['sizes'][-1]:,} +own 3-6 ", line) for line in lines)


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
    for name in "ab":
        draw_curve(document, tmp_path / f"{name}.svg")
    svg = (tmp_path / "a.svg").read_text()
    assert svg == (tmp_path / "b.svg").read_text()
    assert len(re.findall(r'<g id="axes_\d+">', svg)) == 2
    texts = re.findall(r"<text[^>]*>([^<]*)<", svg)
    few = f"{document['results'][0]['items_used']} of 7 items (few: rough)"
    for text in (few, "pairs, spearman", "pairs, pearson", "this", "that", "random vectors"):
        assert text in texts
    # of each method, in two panels: a marker for each of three sizes, a band; one in the legend
    for color in ("#0072b2", "#d55e00"):
        assert len(re.findall(rf'<use [^>]*style="fill: {color}', svg)) == 2 * (3 + 1) + 1


def test_a_curve_of_one_size_has_no_own_rows_and_can_be_drawn(corpus, tmp_path, capsys):
    one = curve_of(corpus, tmp_path, sizes=WHOLE)
    assert not any(" own " in line for line in printed(one, capsys)[:-2])
    pytest.importorskip("matplotlib")
    draw_curve(one, tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
