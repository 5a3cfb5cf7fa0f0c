"""Measured tables of the documentation agree with stored results.

A comment directly above a measured table names its data:

    <!-- figures: results/build.json#results/* -->
    <!-- figures: results/mlm-aa.json#held_out/*; results/other.json#runs/* -->
    <!-- figures: not stored (why, or which benchmark would store it) -->
    <!-- figures: not measured (what they are) -->

Files are relative to ``benchmarks/``. What follows ``#`` is a path to the *records*: each row of
the table shows numbers of one record. In a path ``*`` stands for every key, and ``{run}`` groups a
list of objects by their ``run``. With either of them all records are alike, so the numbers of one
column must also have the same key. An element of a list has its string fields as key.

Measured numbers of prose (decimals, percentages, multiples, times and sizes; outside of code) stand
in the same section in a table with stored data or in a block of code, in such a table of a page
that the paragraph links to, or in the records that a comment directly above it names:

    <!-- figures: results/svd.json#results -->

A line of ``tests/figures_of_prose.txt`` has a page, how many other measured numbers it still has,
which may only fall, and those of its numbers that are no results (settings, cited papers).
Signs of differences are not compared.

What stays unnoticed: rows whose labels are exchanged, and a few wrong digits
(``test_wrong_digits_are_noticed``).
"""

import functools
import json
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BENCHMARKS = ROOT / "benchmarks"
RESULTS = [*sorted((BENCHMARKS / "results").glob("*.json")), ROOT / "embed/compare/evidence.json"]
# Results of the first version that do not say which commit measured them: repeat them.
WITHOUT_COMMIT = {"sentences.json", "word2vec-options.json"}
# Tables whose figures nobody can check: lower this when one gets its data.
MOST_NOT_STORED = 6
MOST_EXCEPTIONS = 40  # lines
MOST_NUMBERS = 120  # that the mark of a paragraph names: more would explain wrong ones, too
NUMBER = re.compile(
    r"(?<![\w:.-])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d+)?(?!\.?\d)"
)
UNITS = {
    "MB": 1e6,
    "ms": 1e-3,
    "million": 1e6,
    "M": 1e6,
    "%": 0.01,
    "minutes": 60.0,
    "GB": 1e9,
    "billion": 1e9,
}


@dataclass(frozen=True)
class Figure:
    """A number in a table, with the scales that its unit allows."""

    place: tuple[int, int]  # column, and which number of the cell
    text: str
    scales: tuple[float, ...]

    def shows(self, value):
        """Return the scales at which the value rounds to this figure."""
        digits = self.text.replace(",", "").replace("−", "-")
        mantissa, _, exponent = digits.partition("e")
        decimals = len(mantissa.partition(".")[2])
        zeros = len(mantissa) - len(mantissa.rstrip("0")) if "." not in mantissa else 0
        unit = 10.0 ** (int(exponent or 0) - decimals + (zeros if len(mantissa) > 3 else 0))
        error = unit * (0.5 + 1e-6)
        return [each for each in self.scales if abs(value / each - float(digits)) <= error]


@dataclass(frozen=True)
class Table:
    page: Path
    line: int  # of the header
    mark: str | None
    rows: tuple[tuple[Figure, ...], ...]

    @property
    def name(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def tables(page):
    """Yield the tables of a page outside code blocks."""
    lines = [*page.read_text(encoding="utf-8").splitlines(), ""]
    code = False
    for at, line in enumerate(lines):
        code ^= line.lstrip().startswith("```")
        if not code and line.startswith("|") and re.fullmatch(r"\|( *:?-+:? *\|)+", lines[at + 1]):
            body = []
            for row in lines[at + 2 :]:
                if not row.startswith("|"):
                    break
                body.append(cells(row))
            mark = re.fullmatch(r"<!-- figures: (.*) -->", lines[at - 1])
            rows = tuple(figures(row, cells(line)) for row in body)
            yield Table(page, at + 1, mark and mark[1], tuple(filter(None, rows)))


def cells(row):
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def figures(row, header):
    """Return the figures of a row; its first cell is a label.

    In a cell of numbers they are all numbers, in text those with a decimal point or a thousands
    separator, and percentages and multiples. Levels of significance are no figures.
    """
    found = []
    for column, cell in enumerate(row):
        text = re.sub(r"`[^`]*`|\]\([^)]*\)|\*|95 % (bootstrap )?interval|at 5 %", "", cell)
        text = re.sub("10⁻([³⁴⁵⁶])", lambda power: f"1e-{'³⁴⁵⁶'.index(power[1]) + 3}", text)
        plain = not re.search(r"[A-Za-z]{2}", re.sub(r"\d[eM]", "", text))
        numbers = [each for each in NUMBER.finditer(text) if re.search(r"\d", each[0])]
        for place, number in enumerate(numbers if column else ()):
            after = text[number.end() :].lstrip()
            if plain or re.search(r"[.,e]", number[0]) or after.startswith(("%", "times")):
                named = f"{header[column]} {after[:7]}" if column < len(header) else after[:7]
                units = [u for u in UNITS if re.search(rf"(?<![A-Za-z]){u}(?![A-Za-z])", named)]
                scales = (1.0, *(UNITS[unit] for unit in units))
                found.append(Figure((column, place), number[0], scales))
    return tuple(found)


@functools.cache
def records(mark):
    """Return the records of a mark, each as [(key, number), ...], and whether they are alike."""
    found = []
    for source in mark.split(";"):
        file, _, path = source.strip().partition("#")
        nodes = [json.loads((BENCHMARKS / file).read_text(encoding="utf-8"))]
        for part in filter(None, path.split("/")):
            nodes = [child for node in nodes for child in step(node, part)]
        assert nodes, f"{source.strip()}: the path leads nowhere"
        found += [list(numbers(node)) for node in nodes]
    return found, bool(re.search(r"[*{]", mark))


def step(node, part):
    """Return the children of a node at one part of a path."""
    if part.startswith("{"):
        field = part[1:-1]
        groups = {}
        for each in node:
            groups.setdefault(each[field], []).append(
                {key: value for key, value in each.items() if key != field}
            )
        return list(groups.values())
    children = keyed(node)
    return list(children.values()) if part == "*" else [children[part]]


def keyed(node):
    """Return the children of a node by key."""
    if isinstance(node, dict):
        return node
    names = [
        " ".join(value for value in each.values() if isinstance(value, str))
        if isinstance(each, dict)
        else ""
        for each in node
    ]
    unique = len(set(names)) == len(names)
    return {
        name if unique else str(at): each
        for at, (name, each) in enumerate(zip(names, node, strict=True))
    }


def numbers(node, path=""):
    """Yield the numbers in a node with their keys."""
    if isinstance(node, dict | list):
        for key, child in keyed(node).items():
            yield from numbers(child, f"{path}/{key}")
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield path, node


@functools.cache
def keys_of(mark, figure):
    """Return for each record the keys (with scales) whose numbers round to a figure."""
    return [
        {(key, scale) for key, number in record for scale in figure.shows(number)}
        for record in records(mark)[0]
    ]


def wrong_rows(table):
    """Return the rows that no record explains.

    A record explains a row if it has all its figures; if records are alike, the figures at one
    place must also have a key in common in all rows.
    """
    found, alike = records(table.mark)
    rows = [
        [{f.place: keys_of(table.mark, f)[at] for f in row} for at in range(len(found))]
        for row in table.rows
    ]
    shared = None
    while True:  # fewer keys are shared in each round
        rows = [[each for each in row if all(each.values())] for row in rows]
        wrong = [at for at, row in enumerate(rows) if not row]
        before, shared = shared, None if wrong else shared_keys(rows)
        if wrong or not alike or shared == before:
            return wrong
        rows = [
            [{at: keys & shared[at] for at, keys in each.items()} for each in row] for row in rows
        ]


def shared_keys(rows):
    """Return by place the keys that explain the figures of all rows there."""
    shared = {}
    for row in rows:
        for place in row[0]:
            keys = set.union(*(each[place] for each in row))
            shared[place] = shared.get(place, keys) & keys
    return shared


TABLES = [table for page in PAGES for table in tables(page)]
MARKED = [table for table in TABLES if table.mark]
STORED = [table for table in MARKED if not table.mark.startswith("not ")]


def test_figures_are_numbers_of_cells_of_numbers_and_decimals_of_text():
    header = ["run, 100 dimensions", "score", "peak MB", "text"]
    row = [
        "gensim 4.4",
        "**.686** [−.625 1,743] ±1e-3",
        "379",
        "`--dim 0.5` in 3 sets: 2.2 times, 5 %",
    ]

    found = figures(row, header)

    assert [each.text for each in found] == [".686", "−.625", "1,743", "1e-3", "379", "2.2", "5"]
    assert found[4].shows(378_700_000) == [1e6]
    assert found[0].shows(0.6855)
    assert not found[0].shows(0.6854)


def test_measured_tables_name_their_data():
    missing = [table.name for table in TABLES if not table.mark and sum(map(len, table.rows)) >= 2]
    assert not missing, f"measured tables without `<!-- figures: ... -->`: {', '.join(missing)}"


@pytest.mark.slow
@pytest.mark.parametrize("table", STORED, ids=lambda table: table.name)
def test_figures_are_those_of_the_data(table):
    wrong = [" ".join(f.text for f in table.rows[at]) for at in wrong_rows(table)]
    assert not wrong, f"{table.name}: not in {table.mark}: {'; '.join(wrong)}"


def test_tables_without_data_become_no_more():
    reasons = [table for table in MARKED if table.mark.startswith("not stored")]
    assert len(reasons) <= MOST_NOT_STORED, [f"{table.name} ({table.mark})" for table in reasons]


@pytest.mark.slow
def test_wrong_digits_are_noticed():
    noticed = [bool(wrong_rows(changed(table, random.Random(5)))) for table in STORED]
    assert sum(noticed) >= 0.9 * len(noticed)


def changed(table, rng):
    """Return the table with other digits in one of its figures."""
    row = rng.randrange(len(table.rows))
    place = rng.randrange(len(table.rows[row]))
    figures = list(table.rows[row])
    old = figures[place]
    while figures[place].text == old.text:
        text = re.sub(r"\d", lambda _: str(rng.randrange(10)), old.text)
        figures[place] = replace(old, text=text)
    rows = (*table.rows[:row], tuple(figures), *table.rows[row + 1 :])
    return replace(table, rows=rows)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_results_record_commit_and_machine_and_name_no_folder_of_it(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r'"[/~][^"]*"', text) == []
    whole = json.loads(text)
    parts = [whole] if {"git", "machine"} & set(whole) else list(whole.values())
    for part in parts:
        about = part["machine"] if "git" not in part else part
        commit = about["git"] if isinstance(about, dict) else None
        assert bool(commit) == (path.name not in WITHOUT_COMMIT)
        assert about if path.name in WITHOUT_COMMIT else about["machine"]


MEASURED = re.compile(
    r"(?<![\w.:/=-])(?:(?:\d{1,3}(?:,\d{3})+|\d+)?\.\d+|(?:\d{1,3}(?:,\d{3})+|\d+)(?=(?: to \d+)? ?"
    r"(?:%|seconds|minutes|ms\b|times\b|[MGk]B\b|points|x\b|-fold)))(?![\w-]|\.\d|,\d)"
)
NOT_MEASURED = re.compile(  # levels, versions and formulas, blanked before numbers are looked for
    r"95 %|at (?:the )?5 %|\bp (?:at most|below|above|<|>|≤) \.0\d+|Python 3\.\d+|version \d[\d.]*|"
    r"(?:above|below|at) \.05\b|\b[pqs] [≤>=<]+ 0?\.\d+|± 1\.96|\^\.\d+|\"[\d.]+\"|"
    r"(?:WCAG|License|§|sections?|equations?) ?\d[\d.]*|arXiv:\S+|"
    r"`[^`]*`|\]\([^)]*\)|https?://\S+|<!--.*?-->|\$[^$]+\$"
)
CITED = re.compile(r"\]\((?:https://github\.com/\S+/blob/main/)?([^)#:]+\.md)")  # pages
EXCEPTIONS = Path(__file__).with_name("figures_of_prose.txt")


def plain(number):
    """Return a number without its sign and a zero before the point."""
    return re.sub(r"^0(?=\.)", "", number.lstrip("−-+±"))


@functools.cache
def stored_numbers(page):
    """Return by line of a page's tables the figures that stored data explain."""
    return {
        table.line: {plain(figure.text) for row in table.rows for figure in row}
        for table in tables(page)
        if table.mark and not table.mark.startswith("not stored")
    }


def sections(page):
    """Yield for each section of a page its paragraphs (line, mark, text), and what explains them.

    In pages with commands, all output explains all paragraphs.
    """
    text = page.read_text(encoding="utf-8")
    parts = [text] if "```console" in text else re.split(r"(?m)^(?=## )", text)
    first = 1
    for part in parts:
        paragraphs, explained, code, mark, block, at = [], set(), False, None, [], 0
        for number, line in enumerate([*part.splitlines(), ""], first):
            code ^= (fence := line.lstrip().startswith("```"))
            found = re.fullmatch(r"<!-- figures: (.*) -->", line)
            ends = fence or code or not line.strip() or line.startswith(("|", "#", "<!--"))
            if ends and block:
                paragraphs.append((at, mark, " ".join(block)))
                block = []
            mark = found[1] if found else None if ends else mark
            explained |= stored_numbers(page).get(number, set())
            if code and not fence:
                explained |= {plain(each[0]) for each in NUMBER.finditer(line)}
            if not ends:
                at = at if block else number
                block.append(line)
        first += part.count("\n")
        yield paragraphs, explained


def unexplained(page, allowed=()):
    """Return the measured numbers of a page's prose that nothing explains, with their lines."""
    found = []
    for paragraphs, of_section in sections(page):
        for line, mark, text in paragraphs:
            explained = {*of_section, *map(plain, allowed)}
            for link in CITED.findall(text):
                explained |= set().union(*stored_numbers((page.parent / link).resolve()).values())
            if mark:
                size = sum(len(record) for record in records(mark)[0])
                assert size <= MOST_NUMBERS, f"{page}:{line}: {size} numbers; name fewer records"
            cleaned = NOT_MEASURED.sub(" ", text)
            for number in MEASURED.finditer(cleaned):
                after = cleaned[number.end() :].lstrip()[:8]
                units = [u for u in UNITS if re.match(rf"(?:to \d+ )?{u}(?![A-Za-z])", after)]
                figure = Figure((0, 0), number[0], (1.0, *(UNITS[unit] for unit in units)))
                held = mark and any(
                    figure.shows(abs(value)) for record in records(mark)[0] for _, value in record
                )
                if plain(number[0]) not in explained and not held:
                    found.append(f"{line}: {number[0]}")
    return found


def exceptions():
    """Return by page the numbers that are not measured, and how many others it may have."""
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_EXCEPTIONS, "measured numbers belong into tables with stored data"
    found = {}
    for line in lines:
        page, more, *allowed = line.split()
        found[page] = int(more), allowed
    return found


def test_measured_numbers_of_prose_are_those_of_data():
    listed, wrong = exceptions(), {}
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        most, allowed = listed.pop(name, (0, []))
        found = unexplained(page, allowed)
        if len(found) > most:
            wrong[name] = (len(found), most, found)
    assert not wrong, "not in a table with data, a block of code or a marked result, or " + str(
        wrong
    )
    assert not listed


def test_numbers_of_prose_are_explained_by_tables_code_and_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "## A\n\nIt has .513, not .514, in 3 sets of `0.7`, p below .05, 95 % intervals.\n\n"
        "<!-- figures: results/x.json -->\n| run | score |\n|---|---|\n| a | .513 |\n\n"
        "## B\n\nHere .513 is elsewhere; 7.5 of code.\n\n```text\nloss 7.5\n```\n\n"
        "<!-- figures: results/intervals.json#collocates/by_hits/* -->\nIt is .951, not .123456.\n",
        encoding="utf-8",
    )
    assert unexplained(page, []) == ["3: .514", "12: .513", "19: .123456"]
    assert unexplained(page, [".514", ".123456"]) == ["12: .513"]
