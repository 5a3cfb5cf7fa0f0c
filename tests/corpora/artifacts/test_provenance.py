"""Provenance: times, versions and entries of the caller."""

import datetime
import importlib.metadata
import json

from firth.corpora.artifacts.provenance import provenance


def test_provenance_has_times_versions_and_the_callers_entries():
    started = datetime.datetime.now(datetime.UTC)
    found = provenance(started, threads=2)
    assert found["threads"] == 2
    assert found["packages"]["numpy"] == importlib.metadata.version("numpy")
    assert found["start"] <= found["end"]
    json.dumps(found)
