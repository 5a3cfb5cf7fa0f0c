"""What of a URL may be published."""

import pytest

from firth.corpora.common.console import shell_quoted
from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import note, reporting_to
from firth.corpora.common.urls import public
from firth.embed.study.settings import Study
from tests.reporters import Recorder


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://user:pa@ss@host:80/a.txt?page=2", "https://host:80/a.txt?page=2"),
        ("s3://b/a?X-Amz-Signature=x&X-Amz-Credential=y",
         "s3://b/a?X-Amz-Signature=***&X-Amz-Credential=***"),
        ("https://h/a?sv=1&sig=a%2Fb=", "https://h/a?sv=1&sig=***"),
        (
            "no ftp://u@h/b or h://c?Access_Token=t: x@y",
            "no ftp://h/b or h://c?Access_Token=***: x@y",
        ),
        ("https://host/@name/a=b", "https://host/@name/a=b"),
    ],
)  # fmt: skip
def test_secrets_of_urls_are_left_out(url, expected):
    assert public(url) == expected


def test_errors_notes_commands_and_settings_have_no_secrets():
    url = "https://user:pass@host/a.txt?sig=x"
    shown = "https://host/a.txt?sig=***"
    assert str(SourceError(f"{url}: no such file")) == f"{shown}: no such file"
    assert shell_quoted(url) == f"'{shown}'"
    assert Study((url,)).to_json()["sources"] == [shown]
    with reporting_to(recorder := Recorder()):
        note(f"building a corpus of {url}")
    assert recorder.notes == [f"building a corpus of {shown}"]
