"""Names of sets."""

from embed.compare.datasets.parts import set_name


def test_the_name_of_a_folder_is_not_cut(tmp_path):
    (tmp_path / "BATS_3.0").mkdir()

    assert set_name(tmp_path / "BATS_3.0") == "BATS_3.0"
    assert set_name(tmp_path / "BATS_3.0" / "..") == tmp_path.name
    assert set_name(tmp_path / "msr.txt") == "msr"
