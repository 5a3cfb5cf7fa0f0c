"""Names of sets."""

from embed.compare.datasets.parts import set_name


def test_a_folder_keeps_the_whole_of_its_name(tmp_path):
    (tmp_path / "BATS_3.0").mkdir()

    assert set_name(tmp_path / "BATS_3.0") == "BATS_3.0"
    assert set_name(tmp_path / "BATS_3.0" / "..") == tmp_path.name
    assert set_name(tmp_path / "msr.txt") == "msr"
