"""Default settings of a study, chosen by the text's size and language and by the time budget."""

import json
import math
import subprocess
from collections.abc import Mapping
from typing import Any

from corpora.common.console import escape_leading_dash
from corpora.common.errors import FirthError, SourceError
from corpora.common.memory import available_threads
from corpora.common.reporting import is_silent, note
from embed.compare.datasets.word_pairs import NOT_ENGLISH, TWO_TAGS, default_sets
from embed.compare.recommend import Features, width_for
from embed.compare.scoring.comparison import SET_OPTIONS
from embed.study.settings import COMPARE, Study, command_options
from embed.study.steps import describe_exit, firth_command
from embed.word2vec.config import default_epochs

_TOKENS_PER_SECOND = 0.5e6  # of word2vec with one thread at 100 dimensions; conservative
_WORD2VEC_SHARE = 0.2  # of the budget, for each of skip-gram and CBOW
_MLM_SHARE = 0.4  # of the budget, for the masked language model
_PRESETS = ("tiny", "mini", "small", "medium")
_MIN_EPOCHS, _MAX_EPOCHS = 10, 40  # of the masked language model
SETS = frozenset(option.replace("_", "-") for option in SET_OPTIONS.values())


def choose_settings(study: Study, path: str, features: Features) -> Study:
    """Return the study with every open setting chosen; given settings are kept."""
    if "svd" in study.methods:
        dim = min(width_for("svd", features.tokens), max(1, features.words // 2))
        study = study.with_options("train-svd", dim=dim)
    for method in ("cbow", "skipgram"):
        if method in study.methods:
            study = study.with_options(
                f"train-{method}", **_word2vec_options(study, method, features.tokens)
            )
    if "mlm" in study.methods:
        study = _choose_preset(study, path)
    if not SETS & study.options.get(COMPARE, {}).keys():
        study = _choose_sets(study, features)
    return study


def _word2vec_options(study: Study, method: str, tokens: int) -> dict[str, Any]:
    """Return the width and number of epochs that fit into the budget."""
    command = f"train-{method}"
    given = study.options.get(command, {})
    dim = given.get("dim", width_for(method, tokens))
    usual = default_epochs(tokens)
    speed = _TOKENS_PER_SECOND * available_threads() * 100 / dim
    affordable = math.floor(study.seconds * _WORD2VEC_SHARE * speed / max(tokens, 1))
    epochs = max(1, min(usual, affordable))
    if epochs < usual and "epochs" not in given:
        note(f"{command}: {epochs} epochs instead of {usual} to fit the budget")
    # deterministic: the same vectors on any number of threads
    return {"dim": dim, "epochs": epochs, "deterministic": True}


def _choose_preset(study: Study, path: str) -> Study:
    """Choose the largest preset that trains for enough epochs in time, or else the smallest."""
    given = study.options.get("train-mlm", {})
    if {"steps", "epochs", "tokens", "minutes"} & given.keys():
        return study.with_options("train-mlm", preset="tiny", dtype="float32", compile="off")
    best: Mapping[str, Any] = {}
    for preset in [given["preset"]] if "preset" in given else _PRESETS:
        plan = _dry_run(study.with_options("train-mlm", preset=preset), path)
        if plan is None:  # training will fail with its own message; other methods still run
            best = best or {"preset": preset}
            break
        tokens = int(study.seconds * _MLM_SHARE * plan["tokens_per_second"])
        epochs = tokens / plan["epoch_tokens"]
        if best and epochs < _MIN_EPOCHS:
            break
        best = {
            "preset": preset,
            "tokens": min(tokens, _MAX_EPOCHS * plan["epoch_tokens"]),
            "dtype": plan["dtype"],
            "compile": "on" if plan["compile"] else "off",
        }
        if epochs < _MIN_EPOCHS:
            break
    return study.with_options("train-mlm", **best)


def _dry_run(study: Study, path: str) -> dict[str, Any] | None:
    """Return what ``train-mlm --dry-run`` measures; None if it fails."""
    options = command_options(study.options["train-mlm"], "train-mlm")
    note(f"timing some steps of train-mlm {' '.join(options)} ...")
    command = firth_command("train-mlm", escape_leading_dash(path), *options, "--dry-run", "--json")
    errors = subprocess.DEVNULL if is_silent() else None
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, check=False)
    if finished.returncode < 0:  # killed: another try may succeed, so choose nothing
        raise FirthError(
            f"firth train-mlm --dry-run: {describe_exit(finished.returncode)}; try again"
        )
    if finished.returncode:
        return None
    plan: dict[str, Any] = json.loads(finished.stdout)
    return plan


def _choose_sets(study: Study, features: Features) -> Study:
    """Choose the bundled evaluation sets if the text is English, else intrinsic measures."""
    if features.english:
        try:
            default_sets()
        except SourceError as error:
            note(f"{error}; word pairs and analogies are left out")
            return study.with_options(COMPARE, tagging=[TWO_TAGS], intrinsic=True)
        return study.with_options(
            COMPARE,
            similarity=["wordsim353", "simlex999"],
            analogies=["questions-words"],
            tagging=[TWO_TAGS],
        )
    note(
        f"the text {NOT_ENGLISH} under [compare]; until then only intrinsic measures are reported "
        "(`intrinsic=True`)"
    )
    return study.with_options(COMPARE, intrinsic=True)
