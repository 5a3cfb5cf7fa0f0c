"""Transducer: the targets that a model of pairs writes for sources, and what it reads for them."""

import os
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.text.pairs import COLUMN, PAIRS, spelled
from firth.corpora.tokenizer.pieces import PAD, SEP
from firth.pretrain.data.batches import Rows
from firth.pretrain.data.packing import lay_out
from firth.pretrain.inference.beam import beam_search
from firth.pretrain.inference.generation import spell
from firth.pretrain.inference.mlm_encoder import open_run
from firth.pretrain.inference.trained_encoder import Prediction, TrainedEncoder

_BEAM = 5
_HOLE = "[TARGET]"  # names what stands for the target
_SLOTS = 4096  # of a batch of sources, times the sequences that are kept


class Answer(NamedTuple):
    """A target and its log probability."""

    target: str
    log_probability: float  # in nats, with the end


class Transducer:
    """A trained model of pairs."""

    def __init__(self, encoder: TrainedEncoder) -> None:
        self.encoder = encoder
        units = PAIRS.fullmatch(encoder.text.pattern or "")
        self.unit = units and units[2]  # of targets

    def answers(
        self,
        sources: Sequence[str],
        *,
        beam: int = _BEAM,
        best: int = 1,
        show: Progress = no_progress,
    ) -> list[list[Answer]]:
        """Return the likeliest targets of each source, which may have tags behind a tab."""
        made = [self.row(source) for source in sources]
        order = sorted(range(len(made)), key=lambda number: -len(made[number]))
        answers: list[list[Answer]] = [[] for _ in made]
        done = 0
        while done < len(order):
            longest = len(made[order[done]])
            part = order[done : done + max(1, _SLOTS // (beam * longest))]
            rows = [made[number] for number in part]
            for number, row in zip(part, self._search(rows, beam, best), strict=True):
                answers[number] = row
            show(done := done + len(part), len(order))
        return answers

    def row(self, source: str) -> list[int]:
        """Return the pieces of a source, its tags, and what stands for the target between them."""
        before, after = (
            self.encoder.pieces.split(units)[0].tolist() for units in self._parts(source)
        )
        return self.encoder._framed([*before, self._hole, *after])

    def unknown(self, sources: Sequence[str]) -> list[str]:
        """Return the units of sources and tags that are read as unknown pieces."""
        parts = (part for source in sources for part in self._parts(source))
        units = list(dict.fromkeys(chain.from_iterable(parts)))
        covered = self.encoder.covers(units).tolist()
        return [unit for unit, known in zip(units, covered, strict=True) if not known]

    def units(self, target: str) -> list[str]:
        """Return the units of a target."""
        return self.encoder.words(f"-\t{target}")[2:-1]

    def _parts(self, source: str) -> tuple[list[str], list[str]]:
        """Return the units before the place of the target, and those behind it."""
        text, _, tags = source.partition("\t")
        words = self.encoder.words(f"{text}\t\t{tags}")
        if words[0] == COLUMN or "\t" in tags:
            raise SettingError(f"{source!r}: pass a source, or a source, a tab and its tags")
        place = words.index(COLUMN) + 1
        return words[:place], words[place:]

    @property
    def _hole(self) -> int:
        """The first sentinel, in the place of the target."""
        return self.encoder.model.config.n_pieces

    def _search(self, rows: Sequence[Sequence[int]], beam: int, best: int) -> list[list[Answer]]:
        """Search the targets of a few rows."""
        longest = max(map(len, rows))
        ids = torch.full((len(rows), longest), PAD)
        for row, pieces in zip(ids, rows, strict=True):
            row[: len(pieces)] = torch.tensor(pieces)
        ids = ids.to(self.encoder._device)
        most = min(self.encoder.max_pieces, 2 * longest + 20)
        found = beam_search(
            self.encoder.model, Rows(ids, *lay_out(ids)), self._hole,
            beam=beam, best=best, longest=most,
        )  # fmt: skip
        return [[Answer(self.spelled(ids), score) for ids, score in row] for row in found]

    @torch.inference_mode()
    def alignment(self, source: str) -> tuple[list[str], list[str], np.ndarray]:
        """Return the pieces of the likeliest target with its end, those that are read, the weights.

        float32 (L, H, C, T): how much of its attention each layer and head of the decoder has on
        each piece when it predicts the next piece of the target.
        """
        model, row = self.encoder.model, self.row(source)
        read = Rows.whole(torch.tensor([row], device=self.encoder._device))
        [[(target, _)]] = beam_search(
            model, read, self._hole, beam=_BEAM, best=1, longest=self.encoder.max_pieces
        )
        written = Rows.whole(torch.tensor([[self._hole, *target]], device=read.ids.device))
        memory, x = model(read), model.embed(written)
        weights: list[torch.Tensor] = []
        assert model.core.decoder is not None
        model.core.decoder(x, written, memory, read.segments, weights)
        names = [*self.encoder.pieces.names, _HOLE]
        return (
            [names[piece] for piece in [*target, SEP]],
            [names[piece] for piece in row],
            torch.cat(weights).cpu().numpy(),
        )

    def spelled(self, ids: Sequence[int]) -> str:
        """Return the target that pieces spell."""
        names = (Prediction(self.encoder.pieces.names[piece], 1.0) for piece in ids)
        return spelled(spell(names), self.unit)


def transduce(
    run: str | os.PathLike[str],
    sources: Sequence[str],
    *,
    beam: int = _BEAM,
    best: int = 1,
    device: str = "auto",
) -> list[list[Answer]]:
    """Write the targets of sources by a model of pairs.

    Parameters
    ----------
    run : str or Path
        A run of ``train-mlm`` with ``objective="transduce"``.
    sources : sequence of str
        Sources; tags, if the pairs have some, are behind a tab: ``"laufen\\tV;PST"``.
    beam : int
        Beginnings of a target that are kept at a time; 1 is greedy.
    best : int
        Targets of each source, at most ``beam``.
    device : {'auto', 'cpu', 'cuda', 'mps'}
        Where the model runs; ``mps`` is untried.

    Returns
    -------
    list of list of Answer
        For each source its targets, the likeliest first, with log probabilities in nats.

    Raises
    ------
    ArtifactError
        The run is damaged, or no model of pairs.
    SettingError
        A source is empty or has too many units, or ``best`` is above ``beam``.

    Examples
    --------
    >>> transduce("out/inflect", ["laufen\\tV;PST"])  # doctest: +SKIP
    [[Answer(target='lief', log_probability=-0.31)]]
    """
    if not 0 < best <= beam:
        raise SettingError(f"`best={best}`: a `beam` of {beam} gives from 1 to {beam} targets")
    return open_transducer(run, device).answers(sources, beam=beam, best=best)


def is_transducer(encoder: TrainedEncoder) -> bool:
    """Return whether an encoder has a decoder of spans, and its corpus has pairs."""
    of_pairs = PAIRS.fullmatch(encoder.text.pattern or "")
    return bool(encoder.model.config.decoder_layers and encoder.model.config.sentinels and of_pairs)


def open_transducer(run: str | os.PathLike[str], device: str = "auto") -> Transducer:
    """Open a model of pairs; raise ArtifactError if the run is none."""
    encoder = open_run(run, device)
    if not is_transducer(encoder):
        raise ArtifactError(
            f"{run}: predicts no targets of pairs; pass a run with `objective=transduce`"
        )
    return Transducer(encoder)
