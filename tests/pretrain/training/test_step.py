"""Steps: gradients summed over micro-batches equal those of the batch; dropout is repeatable."""

import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name

from firth.corpora.common.errors import FirthError
from firth.pretrain.data.batches import Batch
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.optimizer import make_optimizer
from firth.pretrain.training.step import Stepper, StepSettings, dropout_seed

B, T, C, V = 12, 16, 4, 30


def random_batch(seed=5):
    """Rows of one or two segments with different numbers of pieces to predict."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(5, V, (B, T))
    segments = np.where(np.arange(T) < rng.integers(3, T + 1, (B, 1)), 0, 1)
    positions = np.where(segments, np.arange(T) - (segments == 0).sum(1, keepdims=True), range(T))
    weights = np.arange(C) < rng.integers(0, C + 1, (B, 1))
    chosen = np.where(weights, np.sort(rng.permuted(np.tile(range(T), (B, 1)), axis=1)[:, :C]), 0)
    arrays = (ids, segments, positions, chosen, rng.integers(5, V, (B, C)))
    return Batch(*map(torch.tensor, arrays), torch.tensor(weights, dtype=torch.float32))


def stepper(micro_batch=B, *, group=None, dropout=0.0, seed=1, compiled=False, **shape):
    """A new model and its stepper."""
    sizes = {"layers": 2, "heads": 2, "dim": 8, "feed_forward_dim": 16, "max_length": T}
    config = EncoderConfig(n_pieces=V, dropout=dropout, **sizes, **shape)
    model = MaskedLanguageModel(config, seed=seed)
    settings = StepSettings(torch.float32, compiled, False, micro_batch)
    optimizer = make_optimizer(model, weight_decay=0.01)
    return model, Stepper(
        model, optimizer, settings, seed=3, group=group or ProcessGroup(), max_segments=3
    )


def gradients(micro_batch, batch, **shape):
    """All gradients of a batch in one array, and the sums."""
    model, takes = stepper(micro_batch, **shape)
    sums = takes.gradients(0, batch)
    return torch.cat([w.grad.reshape(-1) for w in model.parameters()]), sums


@pytest.mark.parametrize(
    ("micro_batch", "shape"),
    [
        *((size, {}) for size in (1, 2, 3, 6)),
        (5, {"attention_score": "hard", "attention_span": 2}),
        (5, {"attention_score": "key-value"}),
        (5, {"positions": "relative"}),
    ],
    ids=str,
)
def test_gradients_of_micro_batches_sum_to_those_of_the_batch(micro_batch, shape):
    batch = random_batch()
    assert batch.weights.sum(1).unique().numel() > 2  # micro-batches weigh differently
    whole, whole_sums = gradients(B, batch, **shape)
    parts, part_sums = gradients(micro_batch, batch, **shape)
    assert (whole - parts).abs().max() < 1e-6
    assert whole.abs().max() > 0.01
    torch.testing.assert_close(whole_sums, part_sums, rtol=1e-6, atol=1e-5)


def test_gradients_of_rows_of_two_kinds_are_those_of_each_kind():
    batch = random_batch()
    causal = torch.arange(B) % 3 > 0
    wide = {"targets": torch.randint(5, V, (B, T)), "weights": torch.rand(B, T)}
    wide["weights"][~causal, C:] = 0
    mixed = dataclasses.replace(batch, causal_rows=causal, **wide)
    whole, sums = gradients(B, mixed)
    for micro_batch in (1, 5):
        assert (gradients(micro_batch, mixed)[0] - whole).abs().max() < 1e-6
    n_targets = [float(part.n_targets) for part in mixed.kinds()]
    assert sum(n_targets) == pytest.approx(float(sums[2]))
    of_kinds = [gradients(B, part)[0] * n for part, n in zip(mixed.kinds(), n_targets, strict=True)]
    assert (sum(of_kinds) / sum(n_targets) - whole).abs().max() < 1e-6
    assert whole.abs().max() > 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # which torch looks at
@pytest.mark.parametrize(
    ("mixers", "n_widths"),
    [(["attention", "linear"], 1), (["elman", "mean"], 2), (["conv"] * 2, 2)],
)
def test_steps_with_fewer_pieces_to_predict_are_not_compiled_again(mixers, n_widths, monkeypatch):
    compile_with, graphs = torch.compile, []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    def counted(function, dynamic):
        return compile_with(function, dynamic=dynamic, backend=count)

    monkeypatch.setattr(torch, "compile", counted)
    torch.compiler.reset()
    options = {"positions": "none", "conv_width": 3 if "conv" in mixers else None}
    _, takes = stepper(4, compiled=True, mixers=mixers, **options)
    whole, sizes = random_batch(), []
    for n in (7, 6, 5, 4, 3):
        fields = ("chosen", "targets", "weights")
        fewer = {name: F.pad(getattr(whole, name), (0, n - C)) for name in fields}
        takes.gradients(0, dataclasses.replace(whole, **fewer))
        sizes.append(len(graphs))
    # around a mixer that is left out, torch takes a second width to see what changes
    assert set(sizes[n_widths - 1 :]) == {sizes[-1]}
    assert (sizes[-1] == 1) == (n_widths == 1)


def test_the_noise_of_hard_attention_is_that_of_the_step():
    batch = random_batch()
    _, takes = stepper(attention_score="hard")
    losses = [float(takes.gradients(number, batch)[0]) for number in (0, 1, 0)]
    assert losses[0] == losses[2] != losses[1]


def test_a_process_never_takes_rows_of_another(monkeypatch):
    monkeypatch.setattr(ProcessGroup, "all_reduce", lambda self, tensors: None)
    batch = random_batch()
    sums = torch.zeros(2)
    for rank in range(3):
        _, takes = stepper(8, group=ProcessGroup(rank, 3))  # of 4 rows each
        sums += takes.gradients(0, batch)[:2]
    torch.testing.assert_close(sums, gradients(B, batch)[1][:2], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("micro_batch", [1, 4])
def test_weights_after_steps_do_not_depend_on_the_micro_batch(micro_batch):
    models = []
    for size in (B, micro_batch):
        # a longer step than the gradients' own: Adam makes much of the sign of next to nothing
        model, takes = stepper(size)
        for number in range(3):
            takes.step(number, random_batch(number), 1e-3)
        models.append(torch.cat([w.detach().reshape(-1) for w in model.parameters()]))
    assert (models[0] - models[1]).abs().max() < 1e-6


def test_a_step_returns_the_loss_of_the_whole_batch():
    batch = random_batch()
    model, takes = stepper(4)
    with torch.no_grad():
        loss, right = model.loss(batch)
    values = takes.step(0, batch, 1e-3)
    assert values[0] == pytest.approx(float(loss), rel=1e-6)
    assert values[1] == float(right)
    assert values[2] == float(batch.weights.sum())


def test_a_large_gradient_is_clipped_and_its_norm_returned(monkeypatch):
    batch = random_batch()
    monkeypatch.setattr("firth.pretrain.training.step._CLIP", 1e-3)
    model, takes = stepper()
    takes.gradients(0, batch)
    norm = torch.cat([w.grad.reshape(-1) for w in model.parameters()]).norm()
    model.zero_grad()

    moved = []
    takes._optimizer.step = lambda rate: moved.append(
        torch.cat([w.grad.reshape(-1) for w in model.parameters()]).norm()
    )
    values = takes.step(0, batch, 1e-3)

    assert values[3] == pytest.approx(float(norm), rel=1e-5)
    assert float(moved[0]) == pytest.approx(1e-3, rel=1e-3)


def test_a_batch_without_targets_changes_weights_only_by_decay():
    batch = random_batch()
    batch = dataclasses.replace(batch, weights=torch.zeros_like(batch.weights))
    model, takes = stepper()
    before = model.core.bias.detach().clone()
    values = takes.step(0, batch, 1e-3)
    assert values.tolist() == [0.0, 0.0, 0.0, 0.0]
    assert torch.equal(model.core.bias, before)


def test_dropout_depends_only_on_the_step_number():
    batch = random_batch()
    model, takes = stepper(dropout=0.3)

    def values(number):
        sums = takes.gradients(number, batch)
        model.zero_grad()
        return sums[0].item()

    first, second = values(0), values(1)
    torch.rand(5)  # what others draw changes nothing
    assert (values(0), values(1)) == (first, second)
    assert first != second


def test_processes_and_steps_have_different_dropout_seeds():
    seeds = {dropout_seed(s, n, r) for s in range(3) for n in range(50) for r in range(4)}
    assert len(seeds) == 600
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_warm_up_changes_no_weight():
    model, takes = stepper()
    before = [weight.detach().clone() for weight in model.parameters()]
    takes.warm_up(random_batch())
    assert all(map(torch.equal, before, model.parameters()))
    assert all(weight.grad is None for weight in model.parameters())


def test_a_compile_failure_is_one_line(monkeypatch):
    def broken(function, **_):
        def fails(*_):
            raise RuntimeError("no such header\nand much more")

        return fails

    monkeypatch.setattr(torch, "compile", broken)
    _, takes = stepper(compiled=True)
    with pytest.raises(FirthError) as refused:
        takes.warm_up(random_batch())
    assert str(refused.value) == (
        "torch.compile failed: RuntimeError: no such header; pass `compile=off`"
    )
