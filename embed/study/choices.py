"""Default settings of a study, chosen by the text's size and language and by the time budget."""

import math
from collections.abc import Mapping
from typing import Any

from firth.corpora.common.errors import FirthError, require_torch
from firth.corpora.common.memory import available_threads
from firth.corpora.common.options import as_command_line
from firth.corpora.common.reporting import note
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.datasets.word_pairs import BUNDLED, NOT_ENGLISH, TWO_TAGS, default_sets
from firth.embed.compare.recommend import Features
from firth.embed.registry import ESTIMATE_MLM, METHODS, resolve
from firth.embed.study.settings import COMPARE, Study, make_config
from firth.embed.word2vec.config import default_epochs

_TOKENS_PER_SECOND = 0.5e6  # of word2vec with one thread at 100 dimensions; conservative
_WORD2VEC_SHARE = 0.2  # of the budget, for each of skip-gram and CBOW
_MLM_SHARE = 0.4  # of the budget, for the masked language model
_PRESETS = ("tiny", "micro", "mini", "small", "medium")
# Of the masked language model. With fewer slots, a smaller preset learns more in the same time
# (docs/methods/mlm.md).
_SLOTS_PER_WEIGHT, _MAX_EPOCHS = 4, 40
_BUDGETS = frozenset({"steps", "epochs", "minutes"})


def choose_settings(
    study: Study, corpus: Corpus, features: Features
) -> tuple[Study, dict[str, str]]:
    """Return the study with every open setting chosen, and why some steps are left out, by step."""
    left_out: dict[str, str] = {}
    if "svd" in study.methods:
        dim = min(METHODS["svd"].width_for(features.tokens), max(1, features.words // 2))
        study = study.with_options("train-svd", dim=dim)
    for method in ("cbow", "skipgram"):
        if method in study.methods:
            study = study.with_options(
                f"train-{method}", **_word2vec_options(study, method, features.tokens)
            )
    if "mlm" in study.methods:
        study, reason = _choose_preset(study, corpus)
        left_out |= {"train-mlm": reason} if reason else {}
    if "sets" not in study.options.get(COMPARE, {}):
        study, reason = _choose_sets(study, features)
        left_out |= {COMPARE: reason} if reason else {}
    for step, reason in left_out.items():
        note(f"left out: firth {step}: {reason}")
    return study, left_out


def _word2vec_options(study: Study, method: str, tokens: int) -> dict[str, Any]:
    """Return the width and number of epochs that fit into the budget."""
    command = f"train-{method}"
    given = study.options.get(command, {})
    dim = given.get("dim", METHODS[method].width_for(tokens))
    usual = default_epochs(tokens)
    speed = _TOKENS_PER_SECOND * available_threads() * 100 / dim
    affordable = math.floor(study.seconds * _WORD2VEC_SHARE * speed / max(tokens, 1))
    epochs = max(1, min(usual, affordable))
    if epochs < usual and "epochs" not in given:
        note(f"{command}: {epochs} epochs instead of {usual} to fit the budget")
    # deterministic: the same vectors on any number of threads
    return {"dim": dim, "epochs": epochs, "deterministic": True}


def _choose_preset(study: Study, corpus: Corpus) -> tuple[Study, str]:
    """Choose the largest preset that reads enough text in its budget, or say why there is none."""
    given = study.options.get("train-mlm", {})
    budgeted = not _BUDGETS.isdisjoint(given)
    if corpus.held_out_units and budgeted and {"preset", "dtype", "compile"} <= given.keys():
        return study, ""
    best: dict[str, Any] = {}
    for preset in [given["preset"]] if "preset" in given else _PRESETS:
        plan = _estimate(study.with_options("train-mlm", preset=preset), corpus)
        if isinstance(plan, str):
            if not best:
                return study, plan
            break
        tokens = plan["tokens"]
        if not budgeted:
            tokens = int(study.seconds * _MLM_SHARE * plan["tokens_per_second"])
            tokens = min(tokens, _MAX_EPOCHS * plan["epoch_tokens"])
        enough = tokens >= _SLOTS_PER_WEIGHT * plan["parameters"]
        if enough or not best:
            compiled = "on" if plan["compile"] else "off"
            best = {"preset": preset, "dtype": plan["dtype"], "compile": compiled}
            if not budgeted:
                best["epochs"] = round(tokens / plan["epoch_tokens"], 4)
        if not enough:
            break
    return study.with_options("train-mlm", **best), ""


def _estimate(study: Study, corpus: Corpus) -> Mapping[str, Any] | str:
    """Return what some steps of the masked language model measure; why it cannot be trained."""
    note("timing some steps of train-mlm ...")
    config = make_config(METHODS["mlm"].config_class(), study.options["train-mlm"])
    try:
        sizes: Mapping[str, Any] = resolve(ESTIMATE_MLM)(corpus, config).sizes
        return sizes
    except FirthError as error:
        return as_command_line(str(error))


def _choose_sets(study: Study, features: Features) -> tuple[Study, str]:
    """Choose the bundled sets if the text is English, or say what is left out."""
    if features.english:
        missing: list[FirthError] = []
        sets = [path.stem for _, path in default_sets(missing)]
        measured = {} if sets else {"intrinsic": True}
        lost = [name for name in BUNDLED if name not in (*sets, TWO_TAGS)]
        reasons = [f"{', '.join(lost)}: {missing[0]}"] if missing else []
        try:
            require_torch(TWO_TAGS)
            sets.append(TWO_TAGS)
        except FirthError as error:
            reasons.append(str(error))
        return study.with_options(COMPARE, sets=sets, **measured), "; ".join(reasons)
    return study.with_options(COMPARE, intrinsic=True), (
        f"evaluation sets: the text {NOT_ENGLISH} under [compare] of study.toml; until then only "
        "intrinsic measures are reported"
    )
