"""Defined symbols: unfolding a definition, one step of a recursion, and loading them safely."""

from __future__ import annotations

from attnproofs.kernel import index as ix
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.statement import Declared, Definition, Statement
from attnproofs.kernel.terms import Term, substitute, substitution


def definition_of(statement: Statement, t: Term) -> Definition:
    """Return the definition of an ``app`` term, after comparing the number of its parts."""
    found = statement.definition.get(t[1])
    if found is None:
        raise Refused(f"{t[1]} is not a defined symbol")
    if len(t[2]) != len(found.params) or len(t[3]) != len(found.indices):
        raise Refused(
            f"{t[1]} takes {len(found.params)} arguments and {len(found.indices)} indices, "
            f"not {len(t[2])} and {len(t[3])}"
        )
    kinds = {"int": "int", "tensor": "lam", "real": "real", "random": "real"}
    for parameter, argument in zip(found.params, t[2]):
        if kinds[parameter[0]] != argument[0]:
            raise Refused(f"argument {parameter[1]} of {t[1]} is of the wrong kind")
        if parameter[0] == "tensor" and len(parameter[2]) != argument[1]:
            raise Refused(
                f"argument {parameter[1]} of {t[1]} has {argument[1]} axes, not {len(parameter[2])}"
            )
    return found


def arguments(found: Definition, t: Term) -> dict[str, Term]:
    """Return the values of the parameters and result indices of an ``app`` term."""
    values = {parameter[1]: argument for parameter, argument in zip(found.params, t[2])}
    values.update({name: ("int", i) for (name, _), i in zip(found.indices, t[3])})
    return values


def unfolded(statement: Statement, t: Term) -> Term:
    """Return the body of an explicit definition at the arguments of `t` (binders opened)."""
    found = definition_of(statement, t)
    if found.recursion is not None:
        raise Refused(f"{t[1]} is defined by recursion; use the rule rec")
    return substitute(found.body, arguments(found, t))


def recursion_step(statement: Statement, t: Term) -> tuple[Term, ix.Poly]:
    """Return the defining right side of a recursive `t`, and what must be >= 0 for it to apply."""
    found = definition_of(statement, t)
    if found.recursion is None or found.base is None:
        raise Refused(f"{t[1]} is not defined by recursion")
    values = arguments(found, t)
    stage: ix.Poly = values[found.recursion][1]
    if stage == ix.ZERO:
        return substitute(found.base, values), ix.ZERO
    before = ix.sub(stage, ix.ONE)
    return substitute(found.body, {**values, found.recursion: ("int", before)}), before


def parameter_axes(found: Definition, t: Term, position: int) -> tuple[ix.Axis, ...]:
    """Return the axes of the tensor argument at `position` of `t`."""
    parameter = found.params[position]
    value = substitution({n: v for n, v in arguments(found, t).items() if v[0] == "int"})
    return tuple(ix.axis_substitute(a, value) for a in parameter[2])


def result_axes(found: Definition, t: Term) -> tuple[ix.Axis, ...]:
    """Return the axes of the indices of `t`."""
    value = substitution({n: v for n, v in arguments(found, t).items() if v[0] == "int"})
    return tuple(ix.axis_substitute(axis, value) for _, axis in found.indices)


def as_statement_symbols(found: Definition, *, stage: ix.Poly | None = None) -> list[Declared]:
    """Return the parameters and indices of a definition as declared symbols.

    With `stage` (of a recursive definition) axes are those at that stage.
    """
    renamed = {found.recursion: ("int", stage)} if found.recursion and stage is not None else {}
    value = substitution(renamed)
    declared: list[Declared] = []
    for p in found.params:
        if p[0] == "int":
            declared.append(Declared("dimension", p[1], least=p[2]))
        elif p[0] == "tensor":
            axes = tuple(ix.axis_substitute(a, value) for a in p[2])
            declared.append(Declared("tensor", p[1], axes))
        else:
            declared.append(Declared("scalar", p[1]))
    for name, axis in found.indices:
        declared.append(Declared("index", name, (ix.axis_substitute(axis, value),)))
    return declared
