"""CSV results read back as they were written."""

import csv
import io

from firth.embed.compare.report.saved import COLUMNS, write_csv

RESULT = {
    "run": 'out/my "best", run',
    "task": "similarity",
    "dataset": "图书馆",
    "metric": "spearman",
    "score": 0.1 + 0.2,
    "low": -1e-17,
    "high": None,
    "items_used": 12,
    "items_total": 353,
    "unknown": "skip",
    "shared_items": True,
}


def written(results, *columns):
    """What write_csv writes."""
    file = io.StringIO(newline="")
    write_csv(results, file, *columns)
    return file.getvalue()


def test_values_keep_full_precision_and_undefined_ones_are_empty():
    [row] = csv.DictReader(io.StringIO(written([RESULT]), newline=""))
    assert row["run"] == 'out/my "best", run'
    assert row["dataset"] == "图书馆"
    assert (float(row["score"]), float(row["low"]), row["high"]) == (0.1 + 0.2, -1e-17, "")
    assert (row["items_used"], row["shared_items"], row["seeds"]) == ("12", "true", "")


def test_columns_do_not_depend_on_the_results():
    header = ",".join(COLUMNS) + "\n"
    assert written([]) == header
    assert written([RESULT]).startswith(header)
    assert written([{**RESULT, "section": "a", "reason": "b", "seeds": 5}]).startswith(header)


def test_further_columns_follow_in_order_of_appearance():
    rows = [{"method": "svd", "score": 1.0}, {"size": 7, "method": "cbow", "low": 0.5}]
    assert written(rows, ("size", "method")) == ("size,method,score,low\n,svd,1.0,\n7,cbow,,0.5\n")
