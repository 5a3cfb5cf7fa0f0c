"""Results as tables of notebooks and as data frames."""

from dataclasses import dataclass
from typing import NamedTuple

import pytest

from firth.corpora.common.display import Table, TableList, record_of


class Pair(NamedTuple):
    word: str
    score: float


@dataclass(frozen=True)
class Row:
    word: str
    near: list[list[str]]
    sure: bool | None


@dataclass(frozen=True, repr=False)
class Found(Table):
    rows: list[Row]
    _right = ("word",)

    def _records(self):
        return list(map(record_of, self.rows))


ROWS = [Row("<a>", [["b", "c"], ["d"]], True), Row("b", [], None)]


def test_a_list_is_a_table_of_its_fields():
    pairs = TableList([Pair("a", 0.51234), Pair("b", 2)])
    assert repr(pairs) == "[Pair(word='a', score=0.51234), Pair(word='b', score=2)]"
    shown = pairs._repr_html_()
    assert "<th>word</th><th>score</th>" in shown
    assert '<td>a</td><td style="text-align: right">0.5123</td>' in shown


def test_cells_say_what_lists_hold_and_are_escaped():
    shown = Found(ROWS)._repr_html_().splitlines()
    right = '<td style="text-align: right">'
    assert shown[1] == "<caption>Found: 2 rows</caption>"
    assert shown[3] == f"<tr>{right}&lt;a&gt;</td><td>b, c | d</td><td>True</td></tr>"
    assert shown[4] == f"<tr>{right}b</td><td></td><td></td></tr>"


def test_long_results_are_cut_in_a_notebook_and_short_in_a_terminal():
    many = Found(ROWS * 5_000)
    assert repr(many) == "<Found: 10,000 rows>"
    shown = many._repr_html_()
    assert shown.count("<tr>") == 21
    assert shown.endswith("<p>and 9,980 more rows, which to_pandas() has</p>")


def test_a_data_frame_has_all_rows_and_columns_without_rows():
    pytest.importorskip("pandas")
    frame = Found(ROWS * 20).to_pandas()
    assert frame.shape == (40, 3)
    assert frame.word.tolist()[:2] == ["<a>", "b"]
    empty = TableList()
    empty._columns = Pair._fields
    assert list(empty.to_pandas().columns) == ["word", "score"]
