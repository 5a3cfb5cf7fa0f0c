"""refine_vectors: its order, refusals, and the runs it writes."""

import numpy as np
import pytest
import scipy.sparse

import firth
from firth.corpora.artifacts.artifact import read_json, verify
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.formats.vector_files import write_int8_run
from firth.embed.refine.api import refine_vectors
from firth.embed.refine.config import RefineConfig
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.refine.test_steps import ROWS

WORDS = [f"w{n}" for n in range(len(ROWS))]


def space(matrix=ROWS, **about):
    """Return vectors in memory."""
    matrix = matrix if scipy.sparse.issparse(matrix) else np.asarray(matrix, np.float32)
    return WordVectors(WORDS[: matrix.shape[0]], matrix, name="space", **about)


def refined(vectors, **options):
    return refine_vectors(vectors, RefineConfig(**options)).matrix


def refined_space(vectors, **options):
    return space(refined(vectors, **options))


def test_all_steps_are_the_single_ones_in_their_order(tmp_path):
    lists = tmp_path / "related.txt"
    lists.write_text("w1 w2 w3\n")
    config = RefineConfig(normalize=True, center=True, remove_top=1, dim=4, whiten=True)
    whole = refine_vectors(space(), config, related=lists)
    step = refine_vectors(refined_space(space(), normalize=True), related=lists)
    for options in ({"remove_top": 1}, {"dim": 4}, {"whiten": True}, {"normalize": True}):
        step = refined_space(step, **options)
    # cosines: signs of components may differ
    np.testing.assert_allclose(
        whole.matrix @ whole.matrix.T, step.matrix @ step.matrix.T, atol=1e-4
    )


def test_vectors_are_normalized_before_and_after_the_other_steps():
    made = refined(space(), normalize=True, center=True)
    lengths = np.linalg.norm(ROWS, axis=1, keepdims=True)
    units = np.divide(ROWS, lengths, where=lengths > 0, out=np.zeros_like(ROWS))
    some = lengths[:, 0] > 0
    centered = units[some] - units[some].mean(axis=0)
    expected = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    np.testing.assert_allclose(made[some], expected, atol=1e-5)


def test_retrofitting_brings_related_words_nearer_in_unit_length(tmp_path):
    (tmp_path / "related.txt").write_text("w1 w2\n")
    plain = space(ROWS * 10)
    made = refine_vectors(plain, related=tmp_path / "related.txt")
    assert made.similarity("w1", "w2") > plain.similarity("w1", "w2")
    assert np.linalg.norm(made["w3"]) == pytest.approx(1, abs=1e-6)
    assert made.similarity("w3", "w4") == pytest.approx(plain.similarity("w3", "w4"), abs=1e-6)


def test_a_run_keeps_words_and_counts_and_names_source_and_steps(tmp_path):
    counts = np.arange(len(ROWS), 0, -1)
    source = tmp_path / "source"
    first = refine_vectors(space(counts=counts), RefineConfig(center=True), out=source)
    assert first.path == source
    out = tmp_path / "out"
    made = refine_vectors(source, RefineConfig(remove_top=2, dim=3), out=out)
    verify(out)
    config = read_json(out / "config.json")
    assert (list(made), made.counts.tolist(), made.dim) == (WORDS, counts.tolist(), 3)
    assert config["method"] == "refine"
    assert config["source"].keys() == {"path", "words", "dim", "fingerprint"}
    assert [step["step"] for step in config["steps"]] == ["center", "remove_top", "dim"]
    assert config["steps"][1]["n"] == 2
    top, kept = (step["variance"] for step in config["steps"][1:])
    values = np.linalg.svd(first.matrix)[1] ** 2
    assert top == pytest.approx(values[:2].sum() / values.sum(), abs=1e-5)
    assert kept == pytest.approx(values[2:5].sum() / values[2:].sum(), abs=1e-5)
    assert firth.load_vectors(out).nearest("w1", 1)


def test_what_was_removed_is_not_whitened_after_rounding(tmp_path):
    first = refined_space(space(ROWS * np.float32(3.7)), remove_top=2)  # rounded to float32
    white = refined(first, whiten=True)
    assert np.linalg.matrix_rank(white, tol=1e-3) == 4


def test_parts_that_are_left_out_are_noted(capsys):
    refined(space(contexts=ROWS), center=True)
    note = "space: context vectors are left out of the refined vectors\n"
    assert capsys.readouterr().err == note


def test_vectors_in_8_bits_are_refined(tmp_path):
    write_int8_run(space(counts=np.arange(len(ROWS), 0, -1)), tmp_path / "int8", False)
    made = refined(WordVectors.open(tmp_path / "int8"), center=True)
    # a 127th of the largest number of a row, which is below 20
    np.testing.assert_allclose(made, refined(space(), center=True), atol=0.2)


FLAT = np.outer(np.arange(1, 9), [1, 2, 0, 0, 0, 1]) + np.array([5, 0, 0, 1, 0, 0])
INFINITE = ROWS.copy()
INFINITE[3, 2] = np.inf


@pytest.mark.parametrize(
    ("vectors", "options", "message"),
    [
        (
            space(), {},
            ("no step to refine by; pass `related`, `center`, `remove_top`, `dim`, `whiten` or "
            "`normalize`"),
        ),
        (
            space(scipy.sparse.csr_matrix(ROWS)), {"center": True},
            "space: has sparse vectors, which are not refined",
        ),
        (
            space(), {"remove_top": 6},
            "`remove_top=6` leaves nothing of the 6 dimensions of space; pass fewer",
        ),
        (
            space(), {"dim": 7},
            "`dim=7` is more than the 6 dimensions that space has left; pass `dim=6` or less",
        ),
        (
            space(), {"remove_top": 2, "dim": 5},
            "`dim=5` is more than the 4 dimensions that space has left; pass `dim=4` or less",
        ),
        (
            space(INFINITE), {"normalize": True},
            "space: the vector of 'w3' holds NaN or infinity; train the run again",
        ),
        (space(ROWS * 0), {"normalize": True}, "space: has only vectors that are zero"),
        (
            space(FLAT), {"remove_top": 1, "center": True},
            ("`remove_top=1` leaves nothing of space, which has 1 component with variance; pass "
            "fewer"),
        ),
        (
            space(FLAT * 0 + 0.1), {"center": True},
            "space: all vectors are the same, so that centering leaves nothing",
        ),
    ],
    ids=["no step", "sparse", "top", "dim", "dim after top", "infinite", "zero", "rank", "same"],
)  # fmt: skip
def test_refusals(vectors, options, message):
    with pytest.raises((SettingError, ArtifactError)) as caught:
        refined(vectors, **options)
    assert str(caught.value) == message


def test_the_source_is_not_replaced(tmp_path):
    out = tmp_path / "run"
    refine_vectors(space(), RefineConfig(center=True), out=out)
    with pytest.raises(ArtifactError, match=r"already exists"):
        refine_vectors(space(), RefineConfig(center=True), out=out)
    with pytest.raises(SettingError, match=r"^`out=.*run`: is the source; choose another$"):
        refine_vectors(out, RefineConfig(center=True), out=out, force=True)
