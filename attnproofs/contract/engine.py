"""Running the properties on a target: budgets, root causes, shrinking, confirmation, findings.

For each level: learn what the target accepts (axes, keywords, data types), run every property in
order, stop a property at its first violation, and see whether an earlier violation explains it. A
root cause is shrunk and then confirmed in a fresh process, so that what is printed is true of the
call alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.known import Known
from attnproofs.contract.process import TargetProcess
from attnproofs.contract.profile import Profile
from attnproofs.contract.properties import properties_of
from attnproofs.contract.properties.conduct import PRINT_LIMIT, plain_case
from attnproofs.contract.property import (
    EVERYTHING,
    LEVELS,
    TUPLES,
    Make,
    Probe,
    Property,
    TargetFailed,
)
from attnproofs.contract.report import (
    EQUIVALENT,
    HELD,
    KNOWN,
    NOT_CLAIMED,
    NOT_COVERED,
    VIOLATED,
    Finding,
)
from attnproofs.contract.semantics import default_scale
from attnproofs.contract.shrink import shrink
from attnproofs.contract.snippet import snippet
from attnproofs.contract.store import Saved, Store, identify_failure
from attnproofs.contract.target import Target
from attnproofs.contract.wire import Array
from attnproofs.errors import TargetError

if TYPE_CHECKING:
    from attnproofs.reference.bounds import PrecisionModel

#: Random examples a property, and longest sequence, by mode.
MODES = {"quick": (20, 33), "default": (60, 129), "thorough": (240, 129)}
#: After so many calls that hung or killed the process, the rest of the level is not covered.
PATIENCE = 4
#: A call after which the target had to be started again, since it had grown, is one of those if it
#: came within so many calls from the start; a target that grows slowly is no reason to stop.
GROWS_QUICKLY = 100
#: Arguments with a heads axis, for targets with the length axis first.
_HEADED = ("query", "key", "value", "grad_out")


@dataclass
class Settings:
    """How an audit is run.

    Attributes
    ----------
    profile
        Conventions.
    mode
        ``quick``, ``default`` or ``thorough``.
    examples
        Random cases a property; None takes the mode's.
    seed
        Seed of all random cases.
    dtypes
        Data types to try; empty for all that the target accepts of float64, float32, float16.
    only, skip
        Patterns of property names.
    limit
        Seconds that one call may take.
    isolate
        False calls the function in this process.
    variant
        Variant declared by the user (``alibi``), or empty.
    precision
        Precision model of `attnproofs.reference.bounds`; empty for all arithmetic in the data
        type of the inputs.
    first_only
        Stop at the first violated property, for callers who want no more than a verdict.
    known
        Violations that are known, with a reason for each.
    """

    profile: Profile
    mode: str = "default"
    examples: int | None = None
    seed: int = 0
    dtypes: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    limit: float = 10.0
    isolate: bool | None = None
    variant: str = ""
    precision: str = ""
    first_only: bool = False
    known: Known = field(default_factory=Known)

    def chosen(self, name: str) -> bool:
        """Whether the property called `name` is to be run."""
        if self.only and not any(fnmatchcase(name, pattern) for pattern in self.only):
            return False
        return not any(fnmatchcase(name, pattern) for pattern in self.skip)


@dataclass
class Session(Probe):
    """One target at one level: what it accepts, and how to call it."""

    target: Target
    level: str
    settings: Settings
    store: Store | None = None
    dtype: str = "float64"
    rank: int = 2
    claims: frozenset[str] = frozenset()
    dtypes: tuple[str, ...] = ()
    variant: str = ""
    optional: set[str] = field(default_factory=set)
    margin: float = -1.0
    making: Make | None = None
    refused: tuple[Case, Violation] | None = None
    failing: dict[str, Saved] = field(default_factory=dict)
    replayed: list[tuple[str, str]] = field(default_factory=list)
    printed: int = 0
    grown: int = 0
    lost: int = 0
    ahead: dict[tuple[int, bool], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.profile = self.settings.profile
        self.process = TargetProcess(self.target, self.settings.limit, self.settings.isolate)

    # -------------------------------------------------------------- calling
    def arguments(self, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the target takes them: in its axis order, with a scale if it must be."""
        must = self.profile.default_scale == "required" and "query" in args
        if must and args.get("scale") is None:
            args = {**args, "scale": default_scale(args["query"].shape[-1], self.profile)}
        if self.profile.layout == "BHLD" or self.level in ("decode", "mha", "softmax"):
            return args
        return {
            name: np.ascontiguousarray(np.swapaxes(value, 1, 2)) if name in _HEADED else value
            for name, value in args.items()
        }

    def layouts(self, case: Case) -> dict[str, str]:
        """The memory layouts of the arguments in the target's axis order."""
        if self.profile.layout == "BHLD" or self.level in ("decode", "mha", "softmax"):
            return case.layouts
        other = {"stride0": "expanded", "expanded": "stride0"}  # rows and heads change places
        return {name: other.get(layout, layout) for name, layout in case.layouts.items()}

    def _split(self, args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        args = self.arguments(args)
        first = LEVELS[self.level][0]
        return (
            {name: args[name] for name in first},
            {name: value for name, value in args.items() if name not in first},
        )

    def _note(self, answer: dict[str, Any]) -> None:
        self.printed = max(self.printed, answer.get("printed", 0))
        self.grown = max(self.grown, answer.get("grown", 0))
        self.lost += "grown" in answer and answer["answered"] < GROWS_QUICKLY

    def outputs(self, case: Case, args: dict[str, Any] | None = None) -> list[Array]:
        """The arrays that the target returns, heads before length."""
        used = case.args if args is None else args
        answer = self.ahead.pop((id(case), args is not None), None)
        if answer is None:
            positional, keywords = self._split(used)
            answer = self.process.call(positional, keywords, self.layouts(case))
        self._note(answer)
        arrays = self.usable(answer)
        if self.level == "grad" and self.profile.layout == "BLHD":
            # each gradient has the axes of its argument
            return [np.swapaxes(a, 1, 2) if a.ndim == 4 else a for a in arrays]
        if self.profile.output_layout == "BLHD" and self.level in ("sdpa", "weights", "lse"):
            arrays[0] = np.swapaxes(arrays[0], 1, 2) if arrays[0].ndim == 4 else arrays[0]
        return arrays

    def fetch(self, cases: list[Case]) -> None:
        """Make the calls of several cases in one exchange, to be judged one by one afterwards."""
        wanted = [
            (case, second)
            for case in cases
            for second in (False, True)
            if not second or case.changed
        ]
        calls = []
        for case, second in wanted:
            positional, keywords = self._split(case.second() if second else case.args)
            layouts = self.layouts(case)
            calls.append({"positional": positional, "keywords": keywords, "layouts": layouts})
        answers = self.process.batch(calls)
        self.ahead = {}
        if answers is not None:
            self.ahead = {(id(c), second): a for (c, second), a in zip(wanted, answers)}

    def usable(self, answer: dict[str, Any]) -> list[Array]:
        """The arrays of an answer, or `TargetFailed`."""
        status = answer["status"]
        if status == "raised":
            text = f"raises {answer['error']}" + (
                f": {answer['message']}" if answer["message"] else ""
            )
            raise TargetFailed(
                Violation("raised", text), refused=answer["error"] == "NotImplementedError"
            )
        if status == "hung":
            self.lost += 1
            raise TargetFailed(Violation("hung", f"gives no answer within {answer['seconds']:g} s"))
        if status == "died":
            self.lost += 1
            raise TargetFailed(Violation("died", f"ends the process ({answer['ending']})"))
        if status == "garbled":
            self.lost += 1
            raise TargetFailed(Violation("died", "breaks the connection to its process"))
        outputs: list[Array] = answer["outputs"]
        wanted = TUPLES.get(self.level, 1)
        if answer["kind"] not in ("array", "tuple") or not outputs:
            text = f"returns {_a(answer['kind'])}, expected {_arrays(wanted)}"
            raise TargetFailed(Violation("kind", text))
        if wanted == 1 and answer["kind"] == "tuple":
            text = f"returns a tuple of {len(outputs)} arrays, expected one array"
            raise TargetFailed(Violation("kind", text))
        if len(outputs) != wanted:
            text = f"returns {_arrays(len(outputs))}, expected {_arrays(wanted)}"
            raise TargetFailed(Violation("kind", text))
        return list(outputs)

    def repeat(self, case: Case, times: int, *, to_the_end: bool = False) -> dict[str, Any]:
        """The same call several times in one process."""
        positional, keywords = self._split(case.args)
        answer = self.process.repeat(positional, keywords, times, to_the_end=to_the_end)
        self._note(answer)
        if "status" in answer:
            self.usable(answer)
        return answer

    # -------------------------------------------------------------- learning
    def learn(self) -> str:
        """Find out what the target accepts; the answer is why it cannot be audited, or empty.

        Raises
        ------
        TargetError
            When the target cannot be loaded, or has not the level's arguments.
        """
        answer = self.process.start()
        if answer["status"] != "ok":
            raise TargetError(f"{self.target.name} cannot be loaded: {_loading(answer)}")
        self._check_signature(answer["signature"])
        trouble = self._plain_call()
        if trouble:
            return trouble
        self._probe_keywords(answer["signature"])
        self._probe_dtypes()
        if not self.dtypes:
            text = "answers the plainest call once, and then no more"
            self.refused = (
                plain_case(self.level, self.make("plain"), self.variant)[0],
                Violation("kind", text),
            )
            return f"{self.target.name} {text}"
        return ""

    def _check_signature(self, signature: dict[str, Any] | None) -> None:
        """Refuse a function that cannot be called with the level's arguments."""
        positional, keywords = LEVELS[self.level]
        self.claims = frozenset()
        if signature is None:
            return
        count = len(signature["positional"])
        shape = f"f({', '.join(positional)}, ...)"
        if count < len(positional) and not signature["any_positional"]:
            raise TargetError(
                f"{self.target.name} takes {count} positional argument{'s' * (count != 1)} "
                f"({', '.join(signature['positional']) or 'none'}); level {self.level} calls "
                f"{shape}. Choose another --level or wrap the function"
            )
        named = set(signature["positional"][: len(positional)])
        extra = [n for n in signature["required"] if n not in named and n not in keywords]
        if extra:
            raise TargetError(
                f"{self.target.name} requires {', '.join(extra)}, which level {self.level} does "
                f"not pass; it calls {shape} with keywords among {', '.join(keywords) or 'none'}. "
                "Give the argument a default or wrap the function"
            )
        accepted = set(signature["keywords"]) - named
        wanted = _KEYWORDS.get(self.settings.variant, frozenset())
        if signature["any_keyword"]:
            accepted |= wanted
        elif wanted and not any(names <= accepted for names in _CLAIMS[self.settings.variant]):
            raise TargetError(
                f"{self.target.name} has no keyword {' or '.join(sorted(wanted))}, which variant "
                f"{self.settings.variant} passes"
            )
        self.claims = frozenset(accepted & set(keywords))
        required = {n for n in signature["required"] if n in keywords}
        self.optional = _variants(self.claims) - _variants(frozenset(required), some=True)
        always = _variants(frozenset(required), some=True)
        self.variant = self.settings.variant or min(always, default="")

    def _plain_call(self) -> str:
        """Call with plain arguments; find the fewest axes that work."""
        ranks = (2, 3, 4) if self.level in ("sdpa", "weights", "lse", "grad") else (2,)
        if self.profile.layout == "BLHD" and len(ranks) > 1:
            ranks = (4,)
        trouble = ""
        for dtype in self.settings.dtypes or ("float64", "float32", "float16"):
            for rank in ranks:
                self.dtype, self.rank = dtype, rank
                case, shapes = plain_case(self.level, self.make("plain"), self.variant)
                try:
                    arrays = self.outputs(case)
                except TargetFailed as failure:
                    text = f"{self.target.name} {failure.violation.message}"
                    self.refused = self.refused or (case, failure.violation)
                    trouble = trouble or text + _hint(self.level, failure.violation)
                    if failure.violation.kind in ("hung", "died"):
                        return trouble
                    continue
                wrong = [
                    f"returns an array of shape {a.shape}, expected {s}"
                    for a, s in zip(arrays, shapes)
                    if a.shape != s
                ]
                if not wrong:
                    return ""
                shape = Violation("shape", wrong[0], wanted=repr(shapes[0]))
                self.refused = self.refused or (case, shape)
                trouble = trouble or f"{self.target.name} {wrong[0]}, for {_shapes(case)}"
        return trouble

    def plain_held(self) -> Finding:
        """The finding that a plain call works."""
        return Finding(
            property="plain_call",
            level=self.level,
            variant="",
            theorem="shapes",
            sentence="The plainest call returns arrays of the right shapes.",
            status=HELD,
            cases={self.dtypes[0]: 1} if self.dtypes else {},
        )

    def refusal(self) -> Finding:
        """The finding that no plain call works."""
        assert self.refused is not None
        case, violation = self.refused
        code = self._code(case, violation, "")
        return replace(
            self.plain_held(), status=VIOLATED, violation=violation, case=case, code=code
        )

    def _accepts(self, case: Case, shape: tuple[int, ...] | None = None) -> bool:
        """Whether a call returns arrays at all (of the shape given)."""
        try:
            arrays = self.outputs(case)
        except TargetFailed:
            return False
        return shape is None or arrays[0].shape == shape

    def _probe_keywords(self, signature: dict[str, Any] | None) -> None:
        """Keywords behind ``**kwargs``, grouped heads and wide masks show only by trying."""
        case, _ = plain_case(self.level, self.make("plain"), self.variant)
        found = set(self.claims)
        if signature is None or signature["any_keyword"]:
            neutral = {"attn_mask": None, "is_causal": False, "scale": None, "axis": -1}
            for bias in ("b_Q", "b_K", "b_V", "b_O"):
                neutral[bias] = None
            for name, value in neutral.items():
                known = name in LEVELS[self.level][1] and name not in found
                if known and self._accepts(case.with_args(**{name: value})):
                    found.add(name)
        self.claims = frozenset(found)
        if self.level in ("sdpa", "weights", "lse", "grad") and self.variant not in ("varlen",):
            grouped, shape = plain_case(self.level, self.make("plain"), self.variant, grouped=True)
            if "enable_gqa" in found or self._accepts(grouped, shape[0]):
                found.add("groups")
            if "attn_mask" in found and self.profile.additive_mask == "yes":
                keep = self.dtype
                self.dtype = "float16"
                one, _ = plain_case(self.level, self.make("plain"), self.variant)
                mask = np.zeros(
                    (one.array("query").shape[-2], one.array("key").shape[-2]), np.float32
                )
                if self._accepts(one.with_args(attn_mask=mask)):
                    found.add("wide_mask")
                self.dtype = keep
        self.claims = frozenset(found)

    def _probe_dtypes(self) -> None:
        """Which data types the target takes."""
        found = []
        for dtype in self.settings.dtypes or ("float64", "float32", "float16"):
            self.dtype = dtype
            case, shapes = plain_case(self.level, self.make("plain"), self.variant)
            if self._accepts(case, shapes[0]):
                found.append(dtype)
        self.dtypes = tuple(found)

    def make(self, name: str, *, borrowed: bool = False) -> Make:
        """What the property called `name` makes its cases from; fewer where sdpa lends it."""
        examples, reach = MODES[self.settings.mode]
        if self.settings.examples is not None:
            examples = self.settings.examples
        if self.dtype != "float64":
            examples = max(1, examples // 4)
            reach = min(reach, 33)
        elif borrowed:
            examples, reach = max(1, examples // 3), min(reach, 33)
        return Make(
            seed=self.settings.seed,
            examples=examples,
            dtype=self.dtype,
            profile=self.profile,
            claims=self.claims,
            rank=self.rank,
            reach=reach,
            name=f"{self.level}/{name}",
            variant=self.variant,
        )

    def precision(self) -> PrecisionModel:
        """The declared precision model, else everything in the data type of the inputs."""
        from attnproofs.reference.bounds import model

        if self.settings.precision:
            return model(self.settings.precision)
        if self.dtype == "float64" and self.profile.float64_accuracy == "float32":
            return model(
                "float32", name="float32 inside float64", input="float64", output="float64"
            )
        return model(self.dtype)

    def note(self, case: Case, ratio: float) -> None:
        """Remember the largest error in units of its allowance; the search goes on from there."""
        if ratio > self.margin:
            self.margin = ratio
            if self.making is not None:
                self.making.best = case

    # -------------------------------------------------------------- saved failures
    def rerun_saved(self) -> None:
        """Judge this target's saved failures first; forget those that are fixed."""
        if self.store is None:
            return
        entries = {p.id: p for p in properties_of(self.level)}
        for saved in self.store.all():
            mine = (saved.target, saved.level, saved.profile) == (
                self.target,
                self.level,
                self.profile.name,
            )
            if not mine or saved.property not in entries or saved.variant != self.variant:
                continue
            if saved.dtype not in self.dtypes or not self.settings.chosen(saved.property):
                continue
            self.dtype = saved.dtype
            violation, unable = self.judge(entries[saved.property], saved.case)
            if unable:  # it is kept: a call that is refused has not been mended
                self.replayed.append((saved.id, "ERROR"))
            elif violation is None:
                self.store.remove(saved.id)
                self.replayed.append((saved.id, "FIXED"))
            else:
                self.failing.setdefault(saved.property, saved)
                self.replayed.append((saved.id, "FAILED"))

    # -------------------------------------------------------------- judging
    def run(self, entry: Property, causes: list[tuple[Property, Finding]]) -> Finding:
        """Run one property and say what became of it."""
        blank = Finding(
            property=entry.id,
            level=self.level,
            variant=entry.variant,
            theorem=entry.theorem,
            sentence=entry.sentence,
            status=NOT_CLAIMED,
        )
        absent = sorted(entry.needs - self.claims)
        if not self._applies(entry):
            return replace(blank, reason=self._variant_reason(entry))
        if absent:
            harmless = entry.harmless_without & set(absent)
            if harmless and entry.needs - harmless <= self.claims:
                reason = f"no keyword {min(harmless)}: it could change nothing, by {entry.theorem}"
                return replace(blank, status=EQUIVALENT, reason=reason)
            return replace(blank, reason=_absent(absent))
        if self.lost >= PATIENCE:
            return replace(
                blank, status=NOT_COVERED, reason=f"{self.lost} calls hung, died or used up memory"
            )
        cases: dict[str, int] = {}
        refused, margin = 0, -1.0
        for dtype in self._kinds(entry):
            self.dtype = dtype
            count = 0
            self.margin = -1.0
            for case in self._ahead(entry):
                violation, unable = self.judge(entry, case)
                if unable:
                    refused += 1
                    continue
                count += 1
                if violation is not None:
                    cases[dtype] = count
                    found = replace(blank, status=VIOLATED, cases=cases, dtype=dtype)
                    self.ahead = {}
                    return self._explain(entry, found, case, violation, causes)
            if count:
                cases[dtype] = count
            margin = max(margin, self.margin)
        if not cases:
            if refused:
                return replace(
                    blank, refused=refused, reason="the target raises NotImplementedError for it"
                )
            if not self._kinds(entry):
                return replace(blank, reason="in none of the data types that are tried")
            why = f"profile {self.profile.name} leaves this open"
            return replace(blank, status=NOT_COVERED, reason=why)
        if entry.id in self.failing:
            saved = self.failing[entry.id]
            self.dtype = saved.dtype
            violation, unable = self.judge(entry, saved.case)
            refused += unable
            if violation is not None:
                found = replace(blank, status=VIOLATED, cases=cases, dtype=saved.dtype)
                return self._explain(entry, found, saved.case, violation, causes)
        held = replace(
            blank,
            status=HELD,
            cases=cases,
            refused=refused,
            margin=margin if margin >= 0 else None,
        )
        if entry.oddity is not None:
            self.dtype = next(iter(cases))
            if oddity := entry.oddity(self, self.make(entry.id)):
                return replace(held, status=EQUIVALENT, reason=f"{oddity}, by {entry.theorem}")
        return held

    def _kinds(self, entry: Property) -> tuple[str, ...]:
        """Data types to try; what sdpa lends to another level is tried in the first one only."""
        asked = {d: "float16" if d == "bfloat16" else d for d in self.dtypes}
        kinds = tuple(d for d, like in asked.items() if like in entry.dtypes)
        borrowed = entry.level != self.level and self.settings.mode != "thorough"
        return kinds[:1] if borrowed else kinds

    def _ahead(self, entry: Property) -> Iterator[Case]:
        """The property's cases, called in growing batches before they are judged."""
        self.making = self.make(entry.id, borrowed=entry.level != self.level)
        cases = iter(entry.cases(self.making))
        if entry.anywhere:
            yield from cases
            return
        size = 4
        while batch := list(islice(cases, size)):
            self.fetch(batch)
            yield from batch
            size = min(size * 2, 8 if entry.accuracy else 64)
        self.ahead = {}

    def _applies(self, entry: Property) -> bool:
        """Whether a property is about something that the target does at all."""
        if entry.anywhere or entry.variant == self.variant:
            return True
        return not self.variant and entry.variant in self.optional

    def _variant_reason(self, entry: Property) -> str:
        if entry.variant:
            return f"no keyword for {entry.variant}"
        return f"the function always applies {self.variant}"

    def judge(self, entry: Property, case: Case) -> tuple[Violation | None, bool]:
        """(what is wrong with one case, whether the target cannot take it at all)."""
        try:
            return entry.judge(self, case), False
        except TargetFailed as failure:
            if failure.refused:
                return None, True
            return failure.violation, False

    def _explain(
        self,
        entry: Property,
        found: Finding,
        case: Case,
        violation: Violation,
        causes: list[tuple[Property, Finding]],
    ) -> Finding:
        """A violation as a consequence of an earlier one, or as a root cause made small."""
        for earlier, cause in causes:
            if earlier.about <= entry.about or EVERYTHING in entry.about:
                found = replace(found, because_of=cause.property)
                return self._finish(entry, found, case, violation)
        if violation.kind not in ("hung", "died", "memory", "printed"):
            case, violation = self._smallest(entry, case, violation)
            case, violation = self._confirm(entry, case, violation)
        found = self._finish(entry, found, case, violation)
        if reason := self.settings.known.reason(self.target.name, self.level, entry.id):
            # what is known explains nothing else: another fault must not hide behind it
            return replace(found, status=KNOWN, reason=reason)
        causes.append((entry, found))
        return found

    def _smallest(self, entry: Property, case: Case, first: Violation) -> tuple[Case, Violation]:
        """Shrink while the same kind of violation remains."""
        last = first

        def fails(candidate: Case) -> bool:
            nonlocal last
            if self.lost >= PATIENCE or (entry.domain and not entry.domain(candidate)):
                return False
            seen, _ = self.judge(entry, candidate)
            if seen is None or seen.kind != first.kind:
                return False
            if seen.kind == "raised" and seen.message[:24] != first.message[:24]:
                return False
            last = seen
            return True

        return shrink(case, fails), last

    def _confirm(self, entry: Property, case: Case, violation: Violation) -> tuple[Case, Violation]:
        """See the violation again in a fresh process, or say that it needs earlier calls."""
        if self.process.mode == "inline":
            return case, violation
        self.process.start()
        again, _ = self.judge(entry, case)
        if again is not None:
            return case, again
        text = f"{violation.message}, but only after other calls: alone the same call is right"
        return case, replace(violation, kind="unstable", message=text)

    def _code(self, case: Case, violation: Violation, identifier: str) -> str:
        """A counterexample as code to paste, in the axis order of the target."""
        given = replace(
            case,
            args=self.arguments(case.args),
            changed=self.arguments(case.changed),
            layouts=self.layouts(case),
        )
        layout = self.profile.layout if self.level == "grad" else self.profile.output_layout
        return snippet(
            self.target,
            self.level,
            given,
            violation,
            limit=self.settings.limit,
            output_layout=layout if self.rank == 4 else "BHLD",
            identifier=identifier,
        )

    def _finish(self, entry: Property, found: Finding, case: Case, violation: Violation) -> Finding:
        """Add the counterexample, its code and its id; save it."""
        identifier = ""
        if self.store is not None and not found.because_of:
            identifier = identify_failure(self.target, self.level, entry.id, self.dtype, case)
        code = self._code(case, violation, identifier)
        found = replace(found, violation=violation, case=case, code=code, id=identifier)
        if self.store is not None and identifier:
            self.store.save(
                Saved(
                    id=identifier,
                    target=self.target,
                    level=self.level,
                    variant=self.variant,
                    property=entry.id,
                    dtype=self.dtype,
                    profile=self.profile.name,
                    case=case,
                    message=violation.message,
                    code=code,
                )
            )
        return found


def run_level(
    session: Session, progress: Callable[[str, str, int, int], None] | None = None
) -> tuple[list[Finding], str]:
    """Every finding of one level, and why it could not be run (empty when it could)."""
    entries = [p for p in properties_of(session.level) if session.settings.chosen(p.id)]
    with session.process:
        trouble = session.learn()
        if trouble:
            return [session.refusal(), *(_unreached(p, session.level) for p in entries)], trouble
        session.rerun_saved()
        findings: list[Finding] = [session.plain_held()]
        causes: list[tuple[Property, Finding]] = []
        for number, entry in enumerate(entries):
            if progress is not None:
                progress(session.level, entry.id, number, len(entries))
            findings.append(session.run(entry, causes))
            if session.settings.first_only and findings[-1].status == VIOLATED:
                break
        findings.extend(_conduct(session))
    return findings, ""


def _unreached(entry: Property, level: str) -> Finding:
    """A property that was not reached because no plain call worked."""
    return Finding(
        property=entry.id,
        level=level,
        variant=entry.variant,
        theorem=entry.theorem,
        sentence=entry.sentence,
        status=NOT_COVERED,
        reason="no plain call worked",
    )


def _conduct(session: Session) -> Iterable[Finding]:
    """What was seen of the target's conduct over all calls: printing and memory."""
    watched = [
        (
            "prints_little",
            f"A call prints at most {PRINT_LIMIT >> 10} KiB.",
            "printed",
            session.printed > PRINT_LIMIT,
            f"one call printed {session.printed} bytes",
        ),
        (
            "keeps_no_memory",
            "Memory does not grow from call to call.",
            "memory",
            session.grown > 0,
            f"the process had grown by {session.grown >> 20} MiB and was started again",
        ),
    ]
    for name, sentence, kind, broken, message in watched:
        if not session.settings.chosen(name):
            continue
        reason = ""
        if broken:
            reason = session.settings.known.reason(session.target.name, session.level, name)
        yield Finding(
            property=name,
            level=session.level,
            variant="",
            theorem="single_head_formula",
            sentence=sentence,
            status=(KNOWN if reason else VIOLATED) if broken else HELD,
            reason=reason,
            cases={session.dtypes[0]: session.process.calls} if session.dtypes else {},
            dtype=session.dtypes[0] if broken and session.dtypes else "",
            violation=Violation(kind, message) if broken else None,
        )


def _variants(keywords: frozenset[str], *, some: bool = False) -> set[str]:
    """Variants whose keywords are all (or some) among the given ones."""
    return {v for names, v in _VARIANTS if (names & keywords if some else names <= keywords)}


_VARIANTS: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"softcap"}), "softcap"),
    (frozenset({"sinks"}), "sinks"),
    (frozenset({"window"}), "window"),
    (frozenset({"left", "right"}), "window"),
    (frozenset({"cu_seqlens"}), "varlen"),
    (frozenset({"drop_keep", "p"}), "dropout"),
)


#: The keyword sets of which a variant needs one, and the one that ``**kwargs`` is tried with.
_CLAIMS = {
    variant: [names for names, other in _VARIANTS if other == variant] for _, variant in _VARIANTS
}
_KEYWORDS = {variant: sets[0] for variant, sets in _CLAIMS.items()}


def _absent(names: list[str]) -> str:
    """Why a property is not claimed, from the keywords that are missing."""
    if names == ["groups"]:
        return "a call with fewer key heads than query heads is refused"
    shown = [n for n in names if n != "groups"]
    return f"no keyword {' or '.join(shown)}"


def _a(kind: str) -> str:
    """A type's name with its article."""
    if kind == "NoneType":
        return "None"
    return f"an {kind}" if kind[:1].lower() in "aeiou" else f"a {kind}"


def _arrays(count: int) -> str:
    return "one array" if count == 1 else f"a tuple of {count} arrays"


def _hint(level: str, violation: Violation) -> str:
    """What to do about a plain call that failed."""
    if violation.kind == "kind" and "tuple" in violation.message and level == "sdpa":
        return "; for (output, weights) use --level weights, for (output, lse) --level lse"
    positional, _ = LEVELS[level]
    return f" on the plainest call of level {level}, f({', '.join(positional)})"


def _shapes(case: Case) -> str:
    return ", ".join(f"{n} {tuple(s)}" for n, s in case.size().items())


def _loading(answer: dict[str, Any]) -> str:
    """Why loading failed, in one sentence."""
    if answer["status"] == "hung":
        return f"nothing within {answer['seconds']:g} s"
    if answer["status"] == "died":
        return f"its process ended ({answer['ending']})"
    if answer["status"] == "garbled":
        return "its process sent something unreadable"
    message = answer["message"] or "no message"
    ours = ("TargetError", "MissingDependency", "InputError")
    return message if answer["error"] in ours else f"{answer['error']}: {message}"
