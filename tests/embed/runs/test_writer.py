"""What every run says of itself."""

import datetime

from firth.corpora.artifacts.artifact import read_json, verify
from firth.corpora.artifacts.provenance import now
from firth.corpora.text.segment import TextSettings
from firth.embed.runs.writer import new_run


def test_a_run_says_what_it_is_and_how_it_was_made(tmp_path):
    started, text = now() - datetime.timedelta(hours=1), TextSettings(keep_case=True)
    with new_run(tmp_path / "run", {"command": "train-svd"}, started=started) as run:
        # ``text`` in the provenance is about the text that was read
        run.describe("svd", {"dim": 3}, text, seeds=[1], text={"tokens": 5})
    verify(tmp_path / "run")
    config, made = (
        read_json(tmp_path / "run" / f"{name}.json") for name in ("config", "provenance")
    )
    assert config == {"format": 1, "method": "svd", "dim": 3, "text": text.to_json()}
    assert (made["seeds"], made["text"]) == ([1], {"tokens": 5})
    assert made["start"] == started.isoformat(timespec="seconds") < made["end"]


def test_a_run_of_files_has_no_text_settings(tmp_path):
    with new_run(tmp_path / "run", {"command": "export"}) as run:
        run.describe("int8", {}, None)
    assert read_json(tmp_path / "run" / "config.json")["text"] is None
