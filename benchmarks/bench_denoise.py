"""A training step of an encoder with a decoder, beside a plain loop of torch's own layers.

Both have BERT's layout, read the same batches, which the trainer's objective makes, and take steps
of AdamW in float32 on one thread. The loop's batches are made beforehand, with their masks. Seconds
are the processor's, so that other programs hardly change them.

    python benchmarks/bench_denoise.py --json benchmarks/results/denoise.json
"""

import itertools
import time

import harness
import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from mlm_material import Case, Ours, drawn_rows
from torch import Tensor, nn

from firth.corpora.tokenizer.pieces import SPECIAL, Pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Batch, Batches
from firth.pretrain.data.objectives.denoise import Denoising
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.training.optimizer import make_optimizer, n_weights
from firth.pretrain.training.step import StepSettings

CASE = Case(2, 2, 128, 8_000, rows=32)
STEPS, RATE, CLIP = 2, 1e-4, 1.0


class Plain(nn.Module):
    """``nn.TransformerEncoder`` and ``nn.TransformerDecoder`` with one table."""

    def __init__(self, shape: EncoderConfig) -> None:
        super().__init__()
        sizes = (shape.dim, shape.heads, shape.feed_forward_dim, 0.0, "gelu")
        self.table = nn.Embedding(shape.n_pieces + shape.sentinels, shape.dim)
        self.positions = nn.Embedding(shape.max_length, shape.dim)
        nn.init.normal_(self.table.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.02)
        self.norms = nn.ModuleList(nn.LayerNorm(shape.dim) for _ in range(3))
        encoder = nn.TransformerEncoderLayer(*sizes, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder, shape.layers, enable_nested_tensor=False)
        decoder = nn.TransformerDecoderLayer(*sizes, batch_first=True)
        self.decoder = nn.TransformerDecoder(decoder, shape.layers)
        self.head = nn.Linear(shape.dim, shape.dim)
        self.bias = nn.Parameter(torch.zeros(shape.n_pieces + shape.sentinels))
        self.heads = shape.heads

    def forward(self, batch: Batch, masks: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """Return the summed loss."""
        x = self.norms[0](self.table(batch.ids) + self.positions(batch.positions))
        memory = self.encoder(x, mask=masks[0])
        read = batch.decoded
        y = self.norms[1](self.table(read.ids) + self.positions(read.positions))
        states = self.decoder(y, memory, tgt_mask=masks[1], memory_mask=masks[2]).flatten(0, 1)
        hidden = self.norms[2](F.gelu(self.head(states)))
        logits = F.linear(hidden, self.table.weight, self.bias)
        losses = F.cross_entropy(logits, batch.targets.flatten(), reduction="none")
        return (losses * batch.weights.flatten()).sum()

    def masks(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return where no attention is allowed, bool (B * heads, queries, keys)."""
        rows, read = batch.segments, batch.decoded.segments
        later = torch.ones(read.shape[1], read.shape[1], dtype=torch.bool).triu(1)
        own = (read[..., None] != read[:, None]) | later
        cross = (read[..., None] != rows[:, None]) & (read >= 0)[..., None]
        found = (rows[..., None] != rows[:, None], own, cross)
        encoder, decoder, both = (mask.repeat_interleave(self.heads, 0) for mask in found)
        return encoder, decoder, both


class Loop:
    """Steps of the plain model."""

    def __init__(self, shape: EncoderConfig, batches: Batches) -> None:
        self.model = Plain(shape)
        self.optimizer = make_optimizer(self.model, weight_decay=0.01)
        made = [batches.batch(step, 0.0) for step in range(4)]
        self.batches = itertools.cycle([(batch, self.model.masks(batch)) for batch in made])

    def run(self, steps: int) -> float:
        """Take steps; return the mean loss of the last one."""
        for _ in range(steps):
            batch, masks = next(self.batches)
            loss = self.model(batch, masks) / batch.n_targets
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), CLIP, foreach=True)
            self.optimizer.step(RATE)
        return loss.item()


def main() -> None:
    """Time both in turns."""
    arguments = harness.parse(__doc__, repeats=5)
    torch.set_num_threads(1)
    device = torch.device("cpu")
    config = MlmConfig(
        preset=f"{CASE.layers}/{CASE.dim}/{CASE.heads}", norm="post", objective="denoise"
    )
    shape = config.shape(n_pieces=CASE.n_pieces)
    names = [*SPECIAL, *(str(n) for n in range(CASE.n_pieces - len(SPECIAL)))]
    pieces = Pieces(names)
    objective = Denoising.for_training(
        config, torch.tensor(pieces.continues), CASE.length, pieces=pieces
    )
    batches = Batches(
        drawn_rows(CASE.n_pieces, CASE.length, device), objective, batch_rows=CASE.rows, seed=1
    )
    ours = Ours(shape, batches, device, StepSettings(torch.float32, False, False, CASE.rows))
    plain = Loop(shape, batches)
    both = {"firth": ours, "torch layers": plain}
    measured = {name: harness.Measurement() for name in both}
    for one in both.values():
        one.run(1)
    for name in harness.turns(list(both), arguments.repeats):
        begun = time.process_time()
        both[name].run(STEPS)
        measured[name].seconds.append(time.process_time() - begun)
    harness.report(
        "steps of denoising", measured, ours="firth", work=STEPS * CASE.tokens, unit="tokens",
        arguments=arguments,
        notes={f"weights of {name}": n_weights(one.model) for name, one in both.items()}
        | {"slots": CASE.length, "slots of the decoder": objective.capacity},
    )  # fmt: skip


if __name__ == "__main__":
    main()
