"""Outlier files: tables of Python lists, plain files, and refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.embed.compare.datasets.outlier_groups import Topic, read_topics
from tests.embed.compare.datasets.set_files import WORDS, refusal, write

CATS = Topic("cats", ("tiger", "lion"), ("dog", "New York"))
LISTS = "\"['dog', 'New York', '']\",\"['tiger', 'lion']\""


@pytest.mark.slow
@given(
    words=st.lists(WORDS, min_size=3, unique=True),
    cut=st.integers(2, 20),
    delimiter=st.sampled_from([",", "\t"]),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_tables_and_plain_files_give_the_same_topics(
    tmp_path_factory, words, cut, delimiter, end, mark
):
    cut = min(cut, len(words) - 1)
    group, outliers = words[:cut], words[cut:]
    row = delimiter.join(["0", "cats", f'"{outliers!r}"', f'"{group!r}"'])
    folder = tmp_path_factory.mktemp("sets")
    table = write(folder, f"{mark}{row}{end}", "table.csv")
    plain = write(folder, mark + end.join([*group, "", *outliers, ""]), "cats.txt")

    assert read_topics(table) == read_topics(plain) == read_topics(folder)
    assert read_topics(plain) == [Topic("cats", tuple(group), tuple(outliers))]


@pytest.mark.parametrize(
    "text",
    [
        f",category,outliers,words\n0,cats,{LISTS}\n",
        f"0,cats,{LISTS}\n",
        "\tcategory\toutliers\twords\n0\tcats\t['dog', 'New York']\t['tiger', 'lion']\n",
        "group,category,outlier\n\"['tiger', 'lion']\",cats,\"['dog', 'New York']\"\n",
        "tiger\nlion\n\n\ndog\nNew York\n\n",
        "\n# cats\ntiger\nlion\n   \ndog\n# towns\nNew York",
    ],
)
def test_published_forms_are_distinguished(tmp_path, text):
    assert read_topics(write(tmp_path, text, "cats.txt")) == [CATS]


HEADER = f",category,outliers,words\n0,cats,{LISTS}\n"
BROKEN = [
    "1,dogs",
    '1,dogs,"[poodle]","[1, 2]"',
    "1,dogs,\"['a'\",\"['b', 'c']\"",
    "1,dogs,\"('a',)\",\"['b', 'c']\"",
    "1,dogs,\"[1]\",\"['b', 'c']\"",
    "1,dogs,\"[].append(1)\",\"['b', 'c']\"",
]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": contains no outliers below a blank line; expected words, a blank line and outl"),
        ("a\nb\n\nc\n\nd\n", ":6: 'd' follows a second blank line; expected words, a blank"),
        ("a\n\nb\n", ": has 1 words and 1 outliers; a topic needs at least two words and one"),
        ("a\nb\n\nb\n", ": 'b' is both in the group and an outlier; remove one"),
        ("0,cats,\"['']\",\"['a', 'b']\"\n", ":1: has 2 words and 0 outliers; a topic needs at"),
        *[
            (f"{HEADER}{row}\n", f":3: {row!r} is not number, category, ['outlier'")
            for row in BROKEN
        ],
        (",category,outliers,words\n# ['a']\n", ": contains no"),
    ],
)
def test_malformed_topics_are_refused(tmp_path, text, said):
    assert refusal(read_topics, tmp_path, text).startswith(said)


def test_a_published_set_is_read_completely(shared_data):
    topics = read_topics(shared_data / "evaluation" / "outlier" / "8-8-8.csv")

    assert [(len(topic.group), len(topic.outliers)) for topic in topics] == [(8, 8)] * 8
    assert topics[2].name == "Big_cats"
    assert topics[2].group[0] == "tiger"
    assert topics[3].outliers[1] == "Rio_de_Janeiro"
