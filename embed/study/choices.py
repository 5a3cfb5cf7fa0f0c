"""What a study leaves open, settled by the size of the text, its language and the time there is."""

import json
import math
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corpora.common.console import no_option
from corpora.common.errors import FirthError
from corpora.common.memory import available_threads
from corpora.common.reporting import is_silent, note
from embed.compare.datasets.word_pairs import TWO_TAGS
from embed.compare.recommend import Features
from embed.compare.scoring.comparison import SET_OPTIONS
from embed.study.settings import COMPARE, Study, typed_options
from embed.study.steps import ended, firth

if TYPE_CHECKING:  # numba comes with it
    from corpora.store.corpus import Corpus

_SMALL = 5_000_000  # tokens, below which 100 dimensions serve an SVD better than 300
_LARGE = 30_000_000  # tokens, from which on skip-gram and CBOW gain from 300 dimensions
_WORDS_A_SECOND = 0.5e6  # learnt by one thread at 100 dimensions: a cautious figure
_PREDICTED = 0.2  # of the budget, for skip-gram or for CBOW
_MASKED = 0.4  # of the budget, for the training of a masked language model
_PRESETS = ("tiny", "mini", "small", "medium")
_ENOUGH_EPOCHS, _MOST_EPOCHS = 10, 40
_ENGLISH = frozenset(["the", "of", "and", "to", "in", "was", "that", "for", "with", "is"])
_FREQUENT, _ENOUGH_ENGLISH = 200, 8  # so many of these among so many types: the text is English
SETS = frozenset(option.replace("_", "-") for option in SET_OPTIONS.values())


def settle(study: Study, corpus: "Corpus", path: str, features: Features) -> Study:
    """Make every choice that a study leaves open."""
    if "svd" in study.methods:
        dim = 100 if features.tokens < _SMALL else 300
        study = study.with_options("train-svd", dim=min(dim, max(1, features.words // 2)))
    for method in ("cbow", "skipgram"):
        if method in study.methods:
            study = study.with_options(
                f"train-{method}", **_predicting(study, f"train-{method}", features.tokens)
            )
    if "mlm" in study.methods:
        study = _masked(study, path)
    if not SETS & study.options.get(COMPARE, {}).keys():
        study = _with_sets(study, corpus)
    return study


def _predicting(study: Study, command: str, tokens: int) -> dict[str, Any]:
    """Width and epochs that the budget suffices for; the same bytes on any number of threads."""
    named = study.options.get(command, {})
    dim = named.get("dim", 100 if tokens < _LARGE else 300)
    usual = 20 if tokens < 4_000_000 else 5
    speed = _WORDS_A_SECOND * available_threads() * 100 / dim
    affordable = math.floor(study.seconds * _PREDICTED * speed / max(tokens, 1))
    epochs = max(1, min(usual, affordable))
    if epochs < usual and "epochs" not in named:
        note(f"{command}: {epochs} epochs in the place of {usual}, for the budget")
    return {"dim": dim, "epochs": epochs, "deterministic": True}


def _masked(study: Study, path: str) -> Study:
    """The largest encoder that sees the text often enough in the time, else a tiny one."""
    named = study.options.get("train-mlm", {})
    if {"steps", "epochs", "tokens", "minutes"} & named.keys():
        return study.with_options("train-mlm", preset="tiny", dtype="float32", compile="off")
    best: Mapping[str, Any] = {}
    for preset in [named["preset"]] if "preset" in named else _PRESETS:
        planned = _planned(study.with_options("train-mlm", preset=preset), path)
        if planned is None:  # the training itself will say why not; the study goes on without it
            best = best or {"preset": preset}
            break
        tokens = int(study.seconds * _MASKED * planned["tokens_per_second"])
        epochs = tokens / planned["epoch_tokens"]
        if best and epochs < _ENOUGH_EPOCHS:
            break
        best = {
            "preset": preset,
            "tokens": min(tokens, _MOST_EPOCHS * planned["epoch_tokens"]),
            "dtype": planned["dtype"],
            "compile": "on" if planned["compile"] else "off",
        }
        if epochs < _ENOUGH_EPOCHS:
            break
    return study.with_options("train-mlm", **best)


def _planned(study: Study, path: str) -> dict[str, Any] | None:
    """What train-mlm --dry-run tells: how fast a training is here, nothing but a trial shows."""
    options = typed_options(study.options["train-mlm"], "train-mlm")
    note(f"timing some steps of train-mlm {' '.join(options)} ...")
    command = firth("train-mlm", no_option(path), *options, "--dry-run", "--json")
    errors = subprocess.DEVNULL if is_silent() else None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, check=False)
    if done.returncode < 0:  # what a lucky moment would have told is not to be guessed
        raise FirthError(f"firth train-mlm --dry-run: {ended(done.returncode)}; try again")
    if done.returncode:
        return None
    planned: dict[str, Any] = json.loads(done.stdout)
    return planned


def _with_sets(study: Study, corpus: "Corpus") -> Study:
    """The sets that come along, where the text is in their language."""
    frequent = set(map(str.lower, corpus.vocabulary.words(0, _FREQUENT)))
    if len(frequent & _ENGLISH) >= _ENOUGH_ENGLISH:
        return study.with_options(
            COMPARE,
            similarity=["wordsim353", "simlex999"],
            analogies=["questions-words"],
            tagging=[TWO_TAGS],
        )
    note(
        "the text does not look English, and all sets that come along are: what they score says "
        "nothing of it; name sets of its language in [compare]; vectors are measured by "
        "themselves, too (`intrinsic=True`)"
    )
    return study.with_options(COMPARE, intrinsic=True)
