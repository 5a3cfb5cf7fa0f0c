"""Provenance: when, with what, and what only the caller knows."""

import datetime
import importlib.metadata
import json

from corpora.artifacts.provenance import provenance


def test_provenance_has_times_versions_and_the_callers_entries():
    started = datetime.datetime.now(datetime.UTC)
    told = provenance(started, threads=2)
    assert told["threads"] == 2
    assert told["packages"]["numpy"] == importlib.metadata.version("numpy")
    assert told["start"] <= told["end"]
    json.dumps(told)
