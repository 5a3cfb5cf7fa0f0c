"""What of a URL may be published."""

import pytest

from firth.corpora.common.urls import public


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://user:pa@ss@host:80/a.txt?page=2", "https://host:80/a.txt?page=2"),
        ("s3://b/a?X-Amz-Signature=x&X-Amz-Credential=y",
         "s3://b/a?X-Amz-Signature=***&X-Amz-Credential=***"),
        ("https://h/a?sv=1&sig=a%2Fb=", "https://h/a?sv=1&sig=***"),
        (
            "no ftp://u@h/b or h://c?Access_Token=t: x@y",
            "no ftp://h/b or h://c?Access_Token=*** x@y",
        ),
        ("https://host/@name/a=b", "https://host/@name/a=b"),
    ],
)  # fmt: skip
def test_secrets_of_urls_are_left_out(url, expected):
    assert public(url) == expected
