"""Held-out losses of the compared runs, and their differences on the same text."""

import dataclasses
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.artifact import CHECKSUMS, read_json
from firth.corpora.artifacts.metrics import HeldOutLoss, read_unit_losses
from firth.embed.registry import METHODS
from firth.embed.runs.run import trained

# Files that hold what is predicted; a masked LM predicts pieces, its words are for its vectors.
_ENTRIES = ("tokenizer.json", "vocabulary.tsv")


@dataclass(frozen=True)
class HeldOutRow:
    """The held-out loss of a run, or the mean of several seeds, beside that of the best."""

    run: str
    loss: HeldOutLoss
    deviation: float | None  # standard deviation over seeds; None for a single run
    behind: HeldOutLoss | None  # loss minus that of the best, with its paired error; None for it
    bits: bool = False  # whether in bits per character, not in nats per pair or piece


def held_out_losses(
    paths: Mapping[str, Path], groups: Mapping[str, Sequence[str]]
) -> Iterator[list[HeldOutRow]]:
    """Yield the losses, some in bits per character, of runs measured on the same text."""
    owner = {run: name for name, runs in groups.items() for run in runs}
    # counts by unit, whether in bits, and the losses of each row by seed
    comparable: dict[Hashable, tuple[np.ndarray, bool, dict[str, list[np.ndarray]]]] = {}
    for name, path in paths.items():
        units = read_unit_losses(path)
        if units is None:
            continue
        losses, of, bits = units[0], units[-1], len(units) == 3
        key = _key(path, of, bits)
        if key is None:
            continue
        *_, by_run = comparable.setdefault(key, (of, bits, {}))
        by_run.setdefault(owner.get(name, name), []).append(
            losses / math.log(2) if bits else losses
        )
    for of, bits, by_run in comparable.values():
        if len(by_run) > 1:
            losses_by_seed = {run: np.array(seeds) for run, seeds in by_run.items()}
            yield compare_losses(losses_by_seed, of, bits=bits)


def compare_losses(
    losses: Mapping[str, np.ndarray], counts: np.ndarray, *, bits: bool = False
) -> list[HeldOutRow]:
    """Compare runs with the best, given their summed losses by seed and unit.

    The error of a difference is that of the differences by unit, with the variances over seeds.
    """
    # losses: float64 (n_seeds, n) each; counts: float64 (n,)
    means = {run: by_seed.mean(axis=0) for run, by_seed in losses.items()}
    with np.errstate(invalid="ignore"):  # NaN if nothing was measured
        seeds = {run: by_seed.sum(axis=1) / counts.sum() for run, by_seed in losses.items()}
    best = min(means, key=lambda run: float(means[run].sum()))
    rows = []
    for run, mean in means.items():
        behind = HeldOutLoss.of_units(mean - means[best], counts)
        of_seeds = math.fsum(_variance(seeds[each]) / len(seeds[each]) for each in (run, best))
        error = math.sqrt(behind.standard_error**2 + of_seeds)
        rows.append(
            HeldOutRow(
                run,
                HeldOutLoss.of_units(mean, counts),
                math.sqrt(_variance(seeds[run])) if len(seeds[run]) > 1 else None,
                None if run == best else dataclasses.replace(behind, standard_error=error),
                bits,
            )
        )
    return rows


def _variance(values: np.ndarray) -> float:
    """Return the variance over seeds, 0 for one."""
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def _key(run: Path, counts: np.ndarray, bits: bool) -> Hashable | None:
    """Return what comparable losses have in common; None if a run does not say it."""
    training = trained(run)
    if training is None or training.method not in METHODS or not (run / CHECKSUMS).is_file():
        return None
    files = read_json(run / CHECKSUMS)
    settings = getattr(METHODS[training.method].config_class(), "loss_settings", ())
    entries = next((files[name] for name in _ENTRIES if name in files and not bits), None)
    values = tuple(training.options.get(name) for name in settings)
    return training.method, training.corpus, entries, values, bits, counts.tobytes()
