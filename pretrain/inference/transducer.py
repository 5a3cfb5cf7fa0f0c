"""Transducer: the targets that a model of pairs writes for sources, and what it reads for them."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.text.pairs import COLUMN, PAIRS, TAG, spelled
from firth.corpora.tokenizer.pieces import PAD, SEP
from firth.pretrain.data.batches import Rows
from firth.pretrain.data.packing import lay_out
from firth.pretrain.inference.beam import Hypothesis, beam_search
from firth.pretrain.inference.generation import spell
from firth.pretrain.inference.trained_encoder import Prediction, TrainedEncoder

_BEAM = 5
_HOLE = "[TARGET]"  # names what stands for the target
_SLOTS = 4096  # of a batch of sources, times the sequences that are kept


class Answer(NamedTuple):
    """A target and its log probability."""

    target: str
    log_probability: float  # in nats, with the end if it has one
    ended: bool  # False if it was cut at the length that targets may have


class Transducer(TrainedEncoder):
    """A trained model of pairs; states of units are the encoder's."""

    predicts = "predicts targets of pairs and no other words"

    def transduce(
        self,
        sources: Sequence[str],
        *,
        beam: int = _BEAM,
        best: int = 1,
        show: Progress = no_progress,
    ) -> list[list[Answer]]:
        """Return the likeliest targets of each source, which may have tags behind a tab.

        One that has not ended after twice as many pieces as its source, and 20, is cut. Raises
        SettingError for what is no source, or ``best`` above ``beam``.
        """
        if not 0 < best <= beam:
            raise SettingError(f"`best={best}`: a `beam` of {beam} has from 1 to {beam} targets")
        made = [self.row(source) for source in sources]
        order = sorted(range(len(made)), key=lambda number: -len(made[number]))
        answers: list[list[Answer]] = [[] for _ in made]
        n_done = 0
        while n_done < len(order):
            longest = len(made[order[n_done]])
            part = order[n_done : n_done + max(1, _SLOTS // (beam * longest))]
            rows = self._search([made[number] for number in part], beam, best)
            for number, row in zip(part, rows, strict=True):
                answers[number] = [Answer(self._spelled(one.pieces), *one[1:]) for one in row]
            show(n_done := n_done + len(part), len(order))
        return answers

    def row(self, source: str) -> list[int]:
        """Return the pieces of a source, its tags, and what stands for the target between them."""
        before, after = (self.pieces.split(units)[0].tolist() for units in self._parts(source))
        return self._framed([*before, self._hole, *after])

    def unknown(self, sources: Sequence[str]) -> list[str]:
        """Return the units of sources and tags that are read as unknown pieces."""
        parts = (part for source in sources for part in self._parts(source))
        units = list(dict.fromkeys(chain.from_iterable(parts)))
        covered = self.covers(units).tolist()
        return [unit for unit, known in zip(units, covered, strict=True) if not known]

    def units(self, target: str) -> list[str]:
        """Return the units of a target."""
        return self.words(f"-\t{target}")[2:-1]

    @property
    def in_same_units(self) -> bool:
        """Whether sources and targets are both characters, or both words."""
        of_sources, of_targets = self._units
        return of_sources == of_targets

    @torch.inference_mode()
    def alignment(self, source: str) -> tuple[list[str], list[str], np.ndarray]:
        """Return the pieces of the likeliest target with its end, those that are read, the weights.

        float32 (L, H, C, T): how much of its attention each layer and head of the decoder has on
        each piece when it predicts the next piece of the target.
        """
        model, row = self.model, self.row(source)
        [[(target, _, _)]] = self._search([row], _BEAM, 1)
        read, written = (
            Rows.whole(torch.tensor([ids], device=self._device))
            for ids in (row, [self._hole, *target])
        )
        weights: list[torch.Tensor] = []
        assert model.core.decoder is not None
        model.core.decoder(model.embed(written), written, model(read), read.segments, weights)
        names = [*self.pieces.names, _HOLE]
        return (
            [names[piece] for piece in [*target, SEP]],
            [names[piece] for piece in row],
            torch.cat(weights).cpu().numpy(),
        )

    def _parts(self, source: str) -> tuple[list[str], list[str]]:
        """Return the units before the place of the target, and those behind it."""
        text, _, tags = source.partition("\t")
        if not text.strip() or "\t" in tags or COLUMN in source:
            raise SettingError(
                f"{source!r:.80} is no source, nor a source, a tab and its tags, without {COLUMN}; "
                "correct or remove it"
            )
        if tags.strip() and not any(name.startswith(TAG) for name in self.pieces.names):
            raise SettingError(
                f"{source!r:.80} has tags, and the pairs of the run had none; remove them, or pass "
                "`test=True` for a file of pairs"
            )
        words = self.words(f"{text}\t\t{tags}")
        place = words.index(COLUMN) + 1
        return words[:place], words[place:]

    @property
    def _units(self) -> tuple[str | None, str | None]:
        """The units of sources and of targets; None for the default."""
        units = PAIRS.fullmatch(self.text.pattern or "")
        return (units[1], units[2]) if units else (None, None)

    @property
    def _hole(self) -> int:
        """The sentinel, in the place of the target."""
        return self.model.config.n_pieces

    def _search(
        self, rows: Sequence[Sequence[int]], beam: int, best: int
    ) -> list[list[Hypothesis]]:
        """Search the targets of a few rows."""
        ids = torch.full((len(rows), max(map(len, rows))), PAD)
        for row, pieces in zip(ids, rows, strict=True):
            row[: len(pieces)] = torch.tensor(pieces)
        ids = ids.to(self._device)
        limits = [min(self.max_pieces, 2 * len(row) + 20) for row in rows]
        read = Rows(ids, *lay_out(ids))
        return beam_search(self.model, read, self._hole, beam=beam, best=best, limits=limits)

    def _spelled(self, ids: Sequence[int]) -> str:
        """Return the target that pieces spell."""
        names = (Prediction(self.pieces.names[piece], 1.0) for piece in ids)
        return spelled(spell(names), self._units[1])
