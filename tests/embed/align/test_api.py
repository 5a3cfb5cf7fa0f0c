"""align_vectors: planted spaces, refusals, and the runs it writes."""

import numpy as np
import pytest

import firth
from firth.corpora.artifacts.artifact import read_json, verify
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.align.api import align_vectors
from firth.embed.align.config import AlignConfig
from firth.embed.align.pairs import hold_out, shared_pairs
from tests.embed.align.planted_spaces import space, turned

PLAIN, BACK, BY = turned()
NO_SHARED = "A and B share no words with vectors; pass a `dictionary` of pairs to `align_vectors()`"


def scores(aligned):
    return [each.score for each in aligned.precision]


@pytest.mark.parametrize("method", ["procrustes", "vecmap"])
def test_without_noise_every_held_out_word_is_found(method):
    aligned = align_vectors(PLAIN, BACK, AlignConfig(method=method))
    assert scores(aligned) == [1, 1, 1, 1]
    assert aligned.about["pairs"] == {
        "used": 360, "held_out": 40, "held_out_words": 40, "searched": 400,
    }  # fmt: skip
    assert aligned.a.similarity("w1", "w2") == pytest.approx(
        aligned.b.similarity("w1", "w2"), abs=1e-5
    )


def test_procrustes_turns_a_and_leaves_b():
    aligned = align_vectors(PLAIN, BACK)
    assert aligned.b is BACK
    # float32 vectors of about unit size
    np.testing.assert_allclose(aligned.a.matrix, PLAIN.matrix @ BY, atol=1e-5)


def test_noise_lowers_precision_and_the_interval_holds_the_score():
    a, b, _ = turned(noise=0.8)
    cosine, *_ = align_vectors(a, b, AlignConfig(held_out=0.5)).precision
    assert 0.1 < cosine.score < 0.9
    assert cosine.low < cosine.score < cosine.high


def test_held_out_pairs_have_no_part_in_the_map():
    first = align_vectors(PLAIN, BACK, AlignConfig(held_out=100))
    tested = [word for word in PLAIN.vocabulary if word not in used_words(first)]
    assert len(tested) == 100
    moved = np.array(BACK.matrix)
    moved[[BACK.row(word) for word in tested]] *= -1
    again = align_vectors(PLAIN, space(BACK.vocabulary, moved, "B"), AlignConfig(held_out=100))
    assert scores(again) == [0, 0, 0, 0]
    np.testing.assert_array_equal(again.a.matrix, first.a.matrix)


def used_words(aligned):
    """Return the words that the map was learned from."""
    config = aligned.about["settings"]
    pairs = shared_pairs(PLAIN, BACK, config["max_vocabulary"])
    used, _ = hold_out(pairs, config["held_out"], config["restrict"], config["seed"])
    return {PLAIN.vocabulary[row] for row in used.a.tolist()}


def test_words_of_a_test_dictionary_are_not_mapped_by(tmp_path):
    file = tmp_path / "test.txt"
    file.write_text("w3 w3\nw5\tw5\nw399 w399\n")
    aligned = align_vectors(PLAIN, BACK, AlignConfig(restrict=390), test=file)
    assert aligned.about["pairs"] == {
        "used": 397, "held_out": 2, "held_out_words": 2, "searched": 390,
    }  # fmt: skip
    assert aligned.about["test"]["pairs"] == 3


def test_a_dictionary_pairs_words_of_other_names(tmp_path):
    a = space([f"a{n}" for n in range(400)], PLAIN.matrix, "A")
    file = tmp_path / "a-b.txt"
    file.write_text("".join(f"a{n} w{n}\n" for n in range(100)))
    aligned = align_vectors(a, BACK, dictionary=file)
    assert scores(aligned) == [1, 1, 1, 1]
    assert aligned.about["dictionary"]["pairs"] == 100


def test_fewer_pairs_than_dimensions_are_noted(capsys):
    with firth.show_progress():
        align_vectors(PLAIN, BACK, AlignConfig(max_vocabulary=5, held_out=0))
    assert capsys.readouterr().err == (
        "5 pairs to map by do not determine a map of 12 dimensions: directions that no pair has "
        "are mapped arbitrarily\n"
    )


SMALL = space(["w1", "w2", "w3"], np.eye(3), "small")


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (
            space(["x"], [[1, 0]], "A"), space(["y"], [[1, 0]], "B"), {},
            NO_SHARED,
        ),
        (
            PLAIN, SMALL, {},
            "A has 12 dimensions and small 3; exchange them, or train both with the same `dim`",
        ),
        (
            SMALL, PLAIN, {"method": "vecmap"},
            ("small has 3 dimensions and A 12, but `method=vecmap` needs as many; pass "
            "`method=procrustes`, or train both with the same `dim`"),
        ),
        (
            PLAIN, BACK, {"method": "vecmap", "max_vocabulary": 5, "held_out": 0},
            ("5 pairs to map by do not determine a map of 12 dimensions; pass more, or "
            "`method=procrustes`"),
        ),
        (
            space(["w1", "w2", "w3"], np.outer([1, 2, 7], [1, 3, 0]), "even"), SMALL,
            {"method": "vecmap"},
            ("even: all vectors have one direction, and `method=vecmap` subtracts their mean; pass "
            "`method=procrustes`, or train these vectors again"),
        ),
        (
            space(["w1"], [[np.inf, 0]], "A"), space(["w1"], [[1, 0]], "B"), {"held_out": 0},
            "A: the vector of 'w1' holds NaN or infinity; train the run again",
        ),
        (
            PLAIN, BACK, {"max_vocabulary": 5, "dictionary": "x"},
            "`max_vocabulary` cannot be combined with `dictionary`, whose pairs are all used",
        ),
        (
            PLAIN, BACK, {"held_out": 5, "test": "x"},
            "`held_out` cannot be combined with `test`, which is held out instead",
        ),
    ],
    ids=[
        "no shared", "wider", "vecmap widths", "few", "even", "infinite", "words", "held out",
    ],
)  # fmt: skip
def test_refusals(a, b, options, message):
    files = {name: options.pop(name) for name in ("dictionary", "test") if name in options}
    with pytest.raises((SettingError, ArtifactError)) as caught:
        align_vectors(a, b, AlignConfig(**options), **files)
    assert str(caught.value) == message


def test_what_a_test_dictionary_or_a_share_leaves_without_words_is_refused(tmp_path):
    file = tmp_path / "test.txt"
    file.write_text("".join(f"w{n} w{n}\n" for n in range(400)))
    with pytest.raises(SettingError, match=r"^no pair is left to map by: all are in `test`; "):
        align_vectors(PLAIN, BACK, test=file)
    file.write_text("w1 w30\nw2 w20\n")
    message = r"10 most frequent of B; pass a larger `restrict`, such as 21$"
    with pytest.raises(SettingError, match=message):
        align_vectors(PLAIN, BACK, AlignConfig(restrict=10), test=file)
    with pytest.raises(SettingError, match=r"held_out must be below 1 or a whole number, got 1.5$"):
        AlignConfig(held_out=1.5)


def test_a_space_of_fewer_dimensions_is_mapped():
    a = space(BACK.vocabulary, BACK.matrix[:, :6], "A")
    aligned = align_vectors(a, BACK)
    assert aligned.a.dim == 12
    assert aligned.a.similarity("w1", "w2") == pytest.approx(a.similarity("w1", "w2"), abs=1e-5)


def counted(vectors, counts):
    return space(vectors.vocabulary, vectors.matrix, vectors.name, counts=np.array(counts))


def test_a_run_of_a_keeps_its_words_and_names_both(tmp_path):
    a = counted(PLAIN, range(400, 0, -1))
    out = align_vectors(a, BACK, AlignConfig(seed=3)).save(tmp_path / "run")
    verify(out)
    stored, config = firth.load_vectors(out), read_json(out / "config.json")
    assert list(stored) == list(a)
    assert stored.counts.tolist() == a.counts.tolist()
    np.testing.assert_allclose(stored.matrix, BACK.matrix, atol=1e-5)
    assert (config["method"], config["mapping"]) == ("align", "procrustes")
    assert (config["a"]["path"], config["b"]["path"]) == ("A", "B")
    assert (config["settings"]["seed"], len(config["precision"])) == (3, 4)


@pytest.mark.parametrize("method", ["procrustes", "vecmap"])
def test_a_run_of_both_answers_across_spaces(method, tmp_path):
    a, b = counted(PLAIN, range(800, 0, -2)), counted(BACK, range(799, 0, -2))
    aligned = align_vectors(a, b, AlignConfig(method=method))
    out = aligned.save(tmp_path / "both", suffixes=["de", "en"])
    stored = firth.load_vectors(out)
    assert stored.vocabulary[:4] == ["w0@de", "w0@en", "w1@de", "w1@en"]  # by count
    assert stored.nearest("w7@de", 1)[0].word == "w7@en"
    assert stored.words("w7@de") == ["w7@de"]
    assert read_json(out / "config.json")["suffixes"] == ["de", "en"]


def test_without_counts_words_of_both_are_sorted_by_place():
    assert align_vectors(PLAIN, BACK).both(["a", "b"]).vocabulary[:3] == ["w0@a", "w0@b", "w1@a"]


@pytest.mark.parametrize("marks", [["a"], ["a", "a"], ["a", ""], ["a", "b c"], ["a", "b@c"]])
def test_unusable_suffixes_are_refused(marks):
    with pytest.raises(SettingError, match=r"^`suffixes` must be two different marks without "):
        align_vectors(PLAIN, BACK).both(marks)


def test_a_run_of_vecmap_needs_both_spaces_and_none_replaces_its_source(tmp_path):
    with pytest.raises(SettingError, match=r"changes the vectors of B, too, .*`suffixes=a,b`$"):
        align_vectors(PLAIN, BACK, AlignConfig(method="vecmap")).save(tmp_path / "run")
    out = align_vectors(PLAIN, BACK).save(tmp_path / "run")
    with pytest.raises(SettingError, match=r"is one of the two spaces; choose another$"):
        align_vectors(out, BACK).save(out, force=True)
