"""Names of sets."""

import pytest

from firth.embed.compare.datasets.parts import set_name


def test_the_name_of_a_folder_is_not_cut(tmp_path):
    (tmp_path / "BATS_3.0").mkdir()

    assert set_name(tmp_path / "BATS_3.0") == "BATS_3.0"
    assert set_name(tmp_path / "BATS_3.0" / "..") == tmp_path.name
    assert set_name(tmp_path / "msr.txt") == "msr"


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("WiC/test/test.data.txt", "WiC/test"),
        ("SICK/test.tsv.gz", "SICK/test"),
        ("multilingual/ru/simlex999.txt", "simlex999"),
        ("wordsim353/combined.csv", "wordsim353/combined"),
        ("trec/TREC_10.label", "TREC_10"),
        ("ud/en_ewt-ud-test.conllu", "en_ewt-ud-test"),
    ],
)
def test_files_named_for_a_part_are_named_with_their_folder(tmp_path, file, name):
    assert set_name(tmp_path / file) == name
