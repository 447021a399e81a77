"""The gallery: every mutant is told apart from the correct code, and every card is complete."""

import inspect
import re

import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.mutants import CAUSES, LEVELS, Call, gallery, lookup
from attnproofs.mutants.difference import difference, unlike
from attnproofs.mutants.registry import in_form, mutant, registered

ALL = gallery()


@pytest.mark.parametrize("subject", ALL, ids=lambda m: m.id)
def test_mutant_differs_from_the_correct_function_on_its_witness(subject):
    """A mutant that agrees everywhere would be no mutant: its witness exhibits the difference."""
    assert difference(subject) is not None


@pytest.mark.parametrize("subject", ALL, ids=lambda m: m.id)
def test_correct_function_passes_where_the_mutant_fails(subject):
    """The difference is the mutant's: the same comparison finds none in the correct function."""
    correct = type(subject)(
        **{**vars(subject), "make": lambda: in_form(LEVELS[subject.level], subject.level)}
    )
    assert difference(correct) is None


@pytest.mark.parametrize("subject", ALL, ids=lambda m: m.id)
def test_mutant_differs_again_with_a_fresh_state(subject):
    """Each `make` starts anew: the difference does not depend on what was called before."""
    assert difference(subject) == difference(subject)


@pytest.mark.parametrize("subject", ALL, ids=lambda m: m.id)
def test_mutant_has_the_signature_of_its_level(subject):
    assert inspect.signature(subject.make()) == inspect.signature(LEVELS[subject.level])


@pytest.mark.parametrize("subject", ALL, ids=lambda m: m.id)
def test_card_is_complete(subject):
    """Level, cause and threads are well formed; the sentence is one, without a trigger's name."""
    assert subject.level in LEVELS
    assert subject.cause in CAUSES
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", source) for source in subject.sources)
    assert len(subject.sentence.split()) >= 4
    assert not subject.sentence.endswith(".")
    assert subject.witness()


def test_every_level_and_every_cause_has_a_mutant():
    assert {m.level for m in ALL} == set(LEVELS)
    assert {m.cause for m in ALL} == set(CAUSES)


def test_sentences_and_ids_are_distinct_within_a_level():
    assert len({m.id for m in ALL}) == len(ALL)
    assert len({(m.level, m.sentence) for m in ALL}) == len(ALL)


def test_at_least_seventy_public_threads_and_a_hundred_of_our_own():
    assert len({source for m in ALL for source in m.sources}) >= 70
    assert sum(not m.sources for m in ALL) >= 100


def test_module_attribute_is_a_target_of_the_right_convention():
    """`attnproofs audit attnproofs.mutants.masking:causal_reversed` works."""
    from attnproofs.mutants import masking

    assert inspect.signature(masking.causal_reversed) == inspect.signature(LEVELS["sdpa"])


def test_a_misspelt_keyword_is_refused_as_by_the_correct_function():
    with pytest.raises(TypeError, match="softcap"):
        lookup("causal-reversed").make()(*[np.zeros((1, 1))] * 3, softcap=1.0)


def test_unknown_id_is_refused_with_the_way_to_the_list():
    with pytest.raises(InputError, match=r"grade --list"):
        lookup("no-such-mutant")


def test_a_wrong_card_is_refused_at_entry():
    with pytest.raises(AssertionError, match="unknown cause"):
        mutant("sdpa", "nothing", cause="magic", witness=lambda: Call(()))
    with pytest.raises(AssertionError, match="two mutants"):
        mutant("sdpa", "nothing", cause="causal", witness=lambda: Call(()))(
            lookup("causal-reversed").make()
        )
    assert set(registered()) == set(ALL)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (np.zeros((1, 2)), np.zeros((2, 1))),
        (np.zeros(2, dtype="float32"), np.zeros(2)),
        (np.array([np.nan]), np.array([0.0])),
        (np.array([0.0]), np.array([np.nan])),
        (np.array([np.inf]), np.array([-np.inf])),
        (np.array([1.0 + 1e-14]), np.array([1.0])),
        ((np.zeros(1),), (np.zeros(1), np.zeros(1))),
        ([0.0], np.zeros(1)),
    ],
)
def test_unlike_sees_shape_dtype_nan_and_digits(got, expected):
    assert unlike(got, expected)
    assert unlike(expected, expected) is None
