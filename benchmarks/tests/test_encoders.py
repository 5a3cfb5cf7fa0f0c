"""The benchmark of encoders: what it compares with, its cells, and the tables of the page."""

from pathlib import Path

import pytest
import torch

from firth.pretrain.config import MlmConfig
from firth.pretrain.mixers import MIXERS
from firth.pretrain.model.mixers.base import AttentionInputs

BENCH = Path(__file__).parents[1]


@pytest.fixture
def bench(monkeypatch):
    """Import benchmarks/bench_encoders.py; its relatives stay importable for this test only."""
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_encoders

    return bench_encoders


@pytest.mark.parametrize("name", ["lstm", "gru", "conv"])
def test_plain_torch_does_the_same_with_rows_of_one_segment(bench, name):
    config = MlmConfig(preset="4/16/4", mixer=name).shape(n_pieces=1)
    ours, peer = MIXERS[name].load()(config, 0), bench.encoder_speed.plain(name, config)
    for weight in ours.parameters():
        torch.nn.init.normal_(weight, 0.0, 0.3)
    names = {"filters": "filters.weight"}
    peer.load_state_dict({names.get(key, key): value for key, value in ours.state_dict().items()})
    x = torch.randn(2, 9, 16)
    torch.testing.assert_close(ours(x, AttentionInputs(torch.zeros(2, 9).long())), peer(x))


def test_segments_have_the_length_that_is_asked_for(bench):
    segments = bench.encoder_speed.packed_segments(200, 128, 25)
    assert not segments[:, 0].any()
    n_segments = int(segments[:, -1].sum()) + 200
    # starts of rows cut segments, and lengths are at least 3; the mean is off by 3 of its errors
    assert 200 * 128 / n_segments == pytest.approx(25, abs=3)


def test_a_measured_cell_is_not_measured_again(bench):
    cell = {"mixer": "lstm", "budget": "steps", "amount": 600}
    assert bench.measured(cell, [{**cell, "loss": 4.0}])
    assert not bench.measured(cell, [{**cell, "amount": 1200}])


def test_the_tables_of_a_page_are_replaced(bench, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: steps -->\n\n<!-- table: minutes -->\nafter\n")
    row = dict.fromkeys(bench.COLUMNS, 0.25) | {"mixer": "gru", "objective": "masked"}
    row |= {"budget": "steps", "steps": 1200, "interval": [0.125, 0.5]}
    bench.write_page(page, [row | {"loss": 9.0}])

    bench.write_page(page, [row | {"loss": 4.5}, row])

    lines = page.read_text().splitlines()
    assert lines[1:3] == ["<!-- table: steps -->", bench.FIGURES]
    figures = ".250 | 1,200 | .250 | 4.500 | .250 | .125 to .500 | .250 | .250"
    assert lines[5] == f"| `gru` | `masked` | {figures} |"
    assert lines[7:] == ["", "<!-- table: minutes -->", "after"]
