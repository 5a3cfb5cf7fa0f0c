"""The set options in the help and in docs/comparing.md."""

import dataclasses
import re

import numpy as np
import pytest

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.context_pairs import ContextSet, PairInContext, Target
from firth.embed.compare.tasks.words_in_context import ContextsTask
from firth.embed.vectors.word_vectors import WordVectors

SETS = [each for each in dataclasses.fields(CompareConfig) if each.default == ()]


@pytest.mark.parametrize("option", SETS, ids=lambda each: each.name)
def test_the_table_names_every_set_as_its_option_takes_it(root, option):
    table = (root / "docs" / "comparing.md").read_text(encoding="utf-8")

    assert f"| `--{option.name.replace('_', '-')} {option.metadata['metavar']}` |" in table


def test_the_table_has_every_metric_of_words_in_context(root):
    table = (root / "docs" / "comparing.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^\| `--contexts .*$", table, re.MULTILINE)
    place = Target(("", "a", ""), (1,))
    pairs = [PairInContext("a", "b", place, place, 1.0)] * 2
    vectors = WordVectors(["a", "b"], np.eye(2, dtype=np.float32))

    metrics = {
        each.metric
        for form in ("scws", "wic", "cosimlex")
        for each in ContextsTask("set", ContextSet(form, pairs)).measure(
            vectors, np.ones(2, dtype=bool)
        )
    }

    assert metrics <= set(re.findall("`(\\w+)`", row))


def test_the_help_of_seed_mentions_the_halves():
    [seed] = (each for each in dataclasses.fields(CompareConfig) if each.name == "seed")

    assert "split of WiC into halves" in seed.metadata["help"]
