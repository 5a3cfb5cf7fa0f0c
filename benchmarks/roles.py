"""Texts and evaluation sets of the benchmarks, opened by role; docs/protocol.md has the reasons.

A benchmark declares its role once. With TUNING it chooses defaults, and a reporting text or set is
an error. With REPORTING it measures what the defaults achieve, and may open everything.
"""

import argparse
import enum
import json
import lzma
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

import harness

if TYPE_CHECKING:
    from firth.embed.compare.task import Task


class Role(enum.Enum):
    """What a text or set is for, and what a benchmark does."""

    TUNING = "tuning"
    REPORTING = "reporting"

    def __str__(self) -> str:  # as --role takes it
        return self.value


TUNING, REPORTING = Role.TUNING, Role.REPORTING
BOTH = None  # training parts of probes, which neither choose nor report

TEXTS: dict[str, Role | None] = {
    "enwiki2015-AA": REPORTING,
    "enwiki2015-AB": TUNING,
    "enwiki2015-AC": REPORTING,
    "wikitext2-train": TUNING,
    "wikitext2-valid": TUNING,
    "wikitext2-test": TUNING,
    "eltec-de": TUNING,
    "zh-modern": REPORTING,
}

_BLIMP = "blimp/blimp.jsonl.xz"
SETS: dict[str, tuple[Role | None, str]] = {
    "mturk287": (TUNING, "similarity/mturk287.tsv"),
    "rg65": (TUNING, "similarity/rg65.tsv"),
    "ws353": (REPORTING, "similarity/ws353.tsv"),
    "ws353-sim": (REPORTING, "similarity/ws353-sim.tsv"),
    "ws353-rel": (REPORTING, "similarity/ws353-rel.tsv"),
    "simlex999": (REPORTING, "similarity/simlex999.tsv"),
    "msr": (TUNING, "analogy/msr.txt"),
    "questions-words": (REPORTING, "analogy/questions-words.txt"),
    "ap": (TUNING, "categorisation/ap.csv"),
    "bless": (REPORTING, "categorisation/bless.csv"),
    "brysbaert": (TUNING, "../norms/brysbaert_concreteness.txt.xz"),
    "glasgow": (REPORTING, "../norms/glasgow_norms.csv.xz"),
    "8-8-8": (REPORTING, "outlier/8-8-8.csv"),
    "scws": (REPORTING, "scws/scws.txt.xz"),
    "ud-ewt-train": (BOTH, "ud_ewt/en_ewt-ud-train.conllu.xz"),
    "ud-ewt-dev": (TUNING, "ud_ewt/en_ewt-ud-dev.conllu.xz"),
    "ud-ewt-test": (REPORTING, "ud_ewt/en_ewt-ud-test.conllu.xz"),
    "sst2-train": (BOTH, "sst2/stsa.binary.train"),
    "sst2-dev": (TUNING, "sst2/stsa.binary.dev"),
    "sst2-test": (REPORTING, "sst2/stsa.binary.test"),
    "sts-2012": (REPORTING, "sts/2012"),
    "sts-2013": (REPORTING, "sts/2013"),
    "sts-2014": (REPORTING, "sts/2014"),
    "blimp-tuning": (TUNING, _BLIMP),
    "blimp-reporting": (REPORTING, _BLIMP),
    "de/gur65": (REPORTING, "multilingual/de/gur65.txt"),
    "de/gur350": (REPORTING, "multilingual/de/gur350.txt"),
    "de/zg222": (REPORTING, "multilingual/de/zg222.txt"),
    "de/simlex999": (REPORTING, "multilingual/de/simlex999.txt"),
    "de/ws353sim": (REPORTING, "multilingual/de/ws353sim.txt"),
    "de/ws353rel": (REPORTING, "multilingual/de/ws353rel.txt"),
    "de/analogies-google": (REPORTING, "multilingual/de/analogies-google.txt"),
    "zh/wordsim-240": (REPORTING, "multilingual/zh/wordsim-240.txt"),
    "zh/wordsim-297": (REPORTING, "multilingual/zh/wordsim-297.txt"),
    "zh/CA8_semantic": (REPORTING, "multilingual/zh/CA8_semantic.txt"),
    "zh/CA8_morphological": (REPORTING, "multilingual/zh/CA8_morphological.txt"),
}


class RoleError(Exception):
    """A benchmark that chooses opened a text or set that is kept for reporting."""


def open_text(name: str, *, role: Role) -> Path:
    """Return the compressed file of a text; exit with a note if it is missing."""
    _check(name, TEXTS, role)
    return open_file(f"corpora/{name}.txt.xz")


def articles(name: str, *, role: Role) -> Iterator[str]:
    """Yield the articles of a text of Wikipedia."""
    lines: list[str] = []
    with lzma.open(open_text(name, role=role), "rt", encoding="utf-8") as file:
        for line in file:
            if line.startswith("<doc"):
                lines = []
            elif line.startswith("</doc"):
                yield "".join(lines)
            else:
                lines.append(line)


def open_set(name: str, *, role: Role) -> Path:
    """Return the file of an evaluation set; exit with a note if it is missing."""
    _check(name, {each: part for each, (part, _) in SETS.items()}, role)
    part, file = SETS[name]
    path = open_file(f"evaluation/{file}")
    if file != _BLIMP or part is None:
        return path
    return harness.made_once(f"{name}.jsonl", lambda new: _write_paradigms(path, part, new))


def set_names(sets: Mapping[str, Iterable[str]], *, role: Role) -> tuple[str, ...]:
    """Return the files of sets of each kind as ``CompareConfig`` takes them."""
    return tuple(
        f"{kind}={open_set(name, role=role)}" for kind, names in sets.items() for name in names
    )


def read_sets(sets: Mapping[str, Iterable[str]], *, role: Role) -> list["Task"]:
    """Return the tasks of sets that are given by kind."""
    from firth.embed.compare.config import CompareConfig
    from firth.embed.compare.scoring.sets import read_tasks

    return read_tasks(CompareConfig(sets=set_names(sets, role=role)))


def paradigms_of(names: Collection[str], part: Role) -> set[str]:
    """Return the BLiMP paradigms of a part: the 2nd, 4th, 6th ... of the sorted names tune."""
    return set(sorted(names)[1 if part is TUNING else 0 :: 2])


def add_role_option(parser: argparse.ArgumentParser, default: Role) -> None:
    """Add ``--role``, for a benchmark that can do either."""
    parser.add_argument(
        "--role",
        type=Role,
        choices=list(Role),
        default=default,
        help="tuning: choose settings; reporting: measure chosen ones",
    )


def _check(name: str, parts: Mapping[str, Role | None], role: Role) -> None:
    """Raise if a benchmark of this role may not open something."""
    if role is TUNING and parts[name] is REPORTING:
        allowed = ", ".join(each for each, part in parts.items() if part is not REPORTING)
        raise RoleError(f"{name}: kept for reporting, so no default is chosen on it; use {allowed}")


def open_file(name: str) -> Path:
    """Return a file or folder of the real data; if it is missing, exit with status 0 and a note."""
    folder = Path(os.environ.get("FIRTH_SHARED_DATA", harness.ROOT.parent / "shared" / "data"))
    if not (folder / name).exists():
        print(f"skipped: no {folder / name}; FIRTH_SHARED_DATA names another folder")
        sys.exit(0)
    return folder / name


def _write_paradigms(path: Path, part: Role, new: IO[bytes]) -> None:
    """Write the sentence pairs of one part."""
    with lzma.open(path) as packed:
        lines = packed.readlines()
    names = [json.loads(line)["UID"] for line in lines]
    chosen = paradigms_of(set(names), part)
    new.writelines(line for line, name in zip(lines, names, strict=True) if name in chosen)
