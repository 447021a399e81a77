"""The benchmark's table of acceptable names covers every cause and names real properties."""

from fnmatch import fnmatchcase

from attnproofs.contract.properties import all_names
from attnproofs.mutants import CAUSES
from tests.benchmarks.names import NAMES, fits


def test_every_cause_has_names():
    assert set(NAMES) == set(CAUSES)


def test_every_pattern_matches_a_property():
    names = [*all_names(), "plain_call"]
    for patterns in NAMES.values():
        for pattern in patterns:
            assert any(fnmatchcase(name, pattern) for name in names), pattern


def test_a_wrong_name_does_not_fit():
    assert fits("layout", "memory_layout")
    assert not fits("layout", "kept_set")
