"""The kinds of sets in the help and in docs/comparing.md."""

import re

import numpy as np
import pytest

from firth.embed.compare.datasets.context_pairs import ContextSet, PairInContext, Target
from firth.embed.compare.kinds import KINDS
from firth.embed.compare.report.explanations import skill
from firth.embed.compare.task import task_class
from firth.embed.compare.tasks.words_in_context import ContextsTask
from firth.embed.vectors.word_vectors import WordVectors


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_and_a_page_name_every_kind_and_its_metrics(root, kind):
    table = (root / "docs" / "comparing.md").read_text(encoding="utf-8")

    assert f"| `{kind}` |" in table
    page = (root / "docs" / "tasks" / f"{kind}.md").read_text(encoding="utf-8")
    for text in (table, page):
        assert set(task_class(kind).metrics) <= set(re.findall(r"`(\w+)`", text))
    assert task_class(kind).key == kind != skill(kind)


def test_the_table_has_every_metric_of_words_in_context(root):
    table = (root / "docs" / "comparing.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^\| `contexts` .*$", table, re.MULTILINE)
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
