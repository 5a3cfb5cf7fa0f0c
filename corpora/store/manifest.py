"""Reads and validates the manifest of a corpus."""

import re
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.artifact import read_json
from firth.corpora.common.errors import ArtifactError
from firth.corpora.store.shards import UNITS

FORMAT = 1
MANIFEST = "manifest.json"
_COUNTS = (
    "tokens", "sentences", "paragraphs", "documents", "types", "held_out_documents",
    "held_out_tokens", "held_out_units",
)  # fmt: skip
_TALLIED = ("characters", "unspaced_characters")
_MAX_COUNT = 1 << 62
_SHARD_NAME = re.compile("[A-Za-z0-9]{1,99}")


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a corpus; raise ArtifactError if it is invalid or of another format."""
    manifest = read_json(path / MANIFEST)
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise ArtifactError(
            f"{path}: has corpus format {str(found)[:40]}, this version reads {FORMAT}; "
            "build it again"
        )
    if wrong := next((name for name, valid in _checks(manifest) if not valid), None):
        raise ArtifactError(
            f"{path / MANIFEST}: {wrong} is missing or invalid; build the corpus again"
        )
    return dict(manifest)


def _checks(manifest: dict[str, Any]) -> list[tuple[str, bool]]:
    """List the entries of a manifest that are used, and whether each is valid."""
    tally, settings, sources = (manifest.get(name) for name in ("tally", "settings", "sources"))
    names = manifest.get("document_sources")
    counted = tally if isinstance(tally, dict) else {}
    return [
        *((name, _is_count(manifest.get(name))) for name in _COUNTS),
        ("fingerprint", isinstance(manifest.get("fingerprint"), str)),
        ("text", isinstance(manifest.get("text"), dict)),
        ("settings", isinstance(settings, dict) and "held_out" in settings),
        ("sources", isinstance(sources, list) and all(map(_is_source, sources))),
        ("document_sources", isinstance(names, list) and all(isinstance(n, str) for n in names)),
        ("held_out_unit", manifest.get("held_out_unit") in UNITS),
        ("shards", _are_shards(manifest.get("shards"))),
        ("tally", isinstance(tally, dict) and all(map(_is_count, tally.values()))),
        *((name, name in counted) for name in _TALLIED),
        ("characters", not manifest.get("tokens") or bool(counted.get("characters"))),
    ]


def _is_count(value: object) -> bool:
    """Return whether a value is a count."""
    return type(value) is int and 0 <= value < _MAX_COUNT


def _is_source(value: object) -> bool:
    """Return whether a value describes a source."""
    return isinstance(value, dict) and {"name", "size", "mtime_ns", "sha256"} <= value.keys()


def _are_shards(value: object) -> bool:
    """Return whether a value lists shards, named so that no path leaves the corpus."""
    return isinstance(value, list) and all(
        isinstance(shard, dict)
        and isinstance(name := shard.get("name"), str)
        and _SHARD_NAME.fullmatch(name)
        for shard in value
    )
