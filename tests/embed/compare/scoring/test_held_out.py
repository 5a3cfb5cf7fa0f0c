"""Held-out losses of compared runs: which are comparable, and the errors of their differences."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import new_artifact, write_json
from firth.corpora.artifacts.metrics import write_unit_losses
from firth.corpora.common.errors import ArtifactError
from firth.embed.compare.report.document import held_out_json
from firth.embed.compare.report.terminal import print_held_out
from firth.embed.compare.scoring.held_out import compare_losses, held_out_losses

LOSSES = ([6.0, 2.0, 16.0, 0.0], [2.0, 1.0, 5.0, 0.0])  # of three units, and one without pairs


def run_of(
    folder: Path, name: str, *, units=LOSSES, words="a\t5\n", corpus="c0", **options
) -> Path:
    """Write the files of a run that a comparison of losses reads."""
    config = {"method": "skipgram", "seed": 1, "window": 5, "negatives": 5, **options}
    with new_artifact(folder / name, {"command": "train-skipgram"}, force=False) as partial:
        write_json(partial / "config.json", config)
        write_json(partial / "provenance.json", {"corpus": corpus})
        (partial / "vocabulary.tsv").write_text(words)
        if units is not None:
            write_unit_losses(partial, np.array(units))
    return folder / name


def test_a_difference_and_its_paired_error_worked_by_hand():
    # losses by unit differ by 2, 1, 5 for 2, 1, 5 pairs (each pair by 1): no error at all, while
    # each loss has one; 24 / 8 = 3 and 32 / 8 = 4
    counts = np.array(LOSSES[1])
    one = np.array([LOSSES[0]])
    best, other = compare_losses({"a": one, "b": one + counts}, counts)

    assert (best.loss.mean, best.behind, best.deviation) == (3.0, None, None)
    # residuals 6 - 6, 2 - 3, 16 - 15: sqrt(3 / 2 * (1 + 1)) / 8
    assert best.loss.standard_error == pytest.approx(math.sqrt(3) / 8)
    assert other.loss.mean == 4.0
    assert other.behind is not None
    assert (other.behind.mean, other.behind.standard_error) == (1.0, 0.0)
    assert other.loss.n_units == other.behind.n_units == 3


def test_the_error_of_a_difference_contains_the_variance_over_seeds():
    # the seeds of b have losses 2.5 and 3.5: deviation sqrt(1/2), variance of their mean 1/4
    counts = np.array(LOSSES[1])
    one = np.array(LOSSES[0])
    best, other = compare_losses(
        {"a": one[None] - counts, "b": np.array([one - counts / 2, one + counts / 2])}, counts
    )

    assert best.deviation is None
    assert other.deviation == pytest.approx(math.sqrt(0.5))
    assert other.behind is not None
    assert (other.behind.mean, other.behind.standard_error) == pytest.approx((1.0, 0.5))


@pytest.mark.parametrize(
    "other",
    [
        {"window": 3},
        {"negatives": 6},
        {"corpus": "c1"},
        {"words": "a\t6\n"},
        {"units": ([6.0, 2.0, 16.0, 1.0], [2.0, 1.0, 5.0, 1.0])},
        {"method": "cbow"},
        {"method": "unheard-of"},
        {"units": None},
    ],
    ids=lambda other: next(iter(other)),
)
def test_losses_of_other_text_or_settings_are_not_compared(other, tmp_path):
    paths = {"a": run_of(tmp_path, "a"), "b": run_of(tmp_path, "b", **other)}
    assert list(held_out_losses(paths, {})) == []

    paths["c"] = run_of(tmp_path, "c", learning_rate=0.1)
    [rows] = held_out_losses(paths, {})
    assert [row.run for row in rows] == ["a", "c"]


def test_pieces_are_what_masked_lms_have_in_common(tmp_path):
    paths = {}
    for name, words, pieces in (("a", "a\t5\n", "1"), ("b", "b\t5\n", "1"), ("c", "a\t5\n", "2")):
        paths[name] = run_of(tmp_path, name, words=words, method="mlm")
        sums = json.loads((paths[name] / "checksums.json").read_text())
        (paths[name] / "checksums.json").write_text(json.dumps({**sums, "tokenizer.json": pieces}))

    [rows] = held_out_losses(paths, {})
    assert [row.run for row in rows] == ["a", "b"]


def test_seeds_share_a_row(tmp_path):
    paths = {name: run_of(tmp_path, name) for name in ("sg-seed1", "sg-seed2")}
    groups = {"sg-seed*": ("sg-seed1", "sg-seed2")}
    assert list(held_out_losses(paths, groups)) == []  # one method, nothing to compare

    paths["a"] = run_of(tmp_path, "a", learning_rate=0.1)
    [rows] = held_out_losses(paths, groups)
    assert [(row.run, row.deviation) for row in rows] == [("sg-seed*", 0.0), ("a", None)]


def test_bits_per_character_are_compared_whatever_the_pieces_are(tmp_path, capsys):
    # of two units with 10 and 5 characters, as 4 and 2 pieces, or as 3 and 2
    characters = np.array([10.0, 5.0])
    few, many = np.array([4.0, 2.0]), np.array([3.0, 2.0])
    nats = characters * math.log(2)  # 1 bit per character
    paths = {
        "a-seed1": run_of(tmp_path, "a-seed1", units=[2 * nats, few, characters]),
        "a-seed2": run_of(tmp_path, "a-seed2", units=[3 * nats, few, characters]),
        "b": run_of(tmp_path, "b", words="b\t5\n", units=[4 * nats, many, characters]),
        "earlier": run_of(tmp_path, "earlier", units=[nats, characters]),
        "other-text": run_of(tmp_path, "other", units=[nats, many, characters + 1]),
    }

    [rows] = held_out_losses(paths, {"a-seed*": ("a-seed1", "a-seed2")})
    print_held_out(rows)

    found = held_out_json(rows)
    assert [each["run"] for each in found] == ["a-seed*", "b"]
    assert [each["bits_per_character"] for each in found] == pytest.approx([2.5, 4.0])
    assert found[1]["behind_bits_per_character"] == pytest.approx(1.5)
    assert "loss" not in found[0]
    assert "bits per character" in capsys.readouterr().out


def test_damaged_unit_losses_are_named(tmp_path):
    paths = {"a": run_of(tmp_path, "a", units=[1.0, 2.0])}
    with pytest.raises(ArtifactError, match=r"held_out.npy: has shape \(2,\), not \(2 or"):
        list(held_out_losses(paths, {}))
