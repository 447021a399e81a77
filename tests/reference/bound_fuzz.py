"""Hold the bound against floating-point runs, at any length.

    python -m tests.reference.bound_fuzz --cases 700 --seed 1

prints, for every precision model, the number of emulated runs, of outputs beyond each tier (must
be 0) and how close the nearest came; then the negative controls, each with one term left out;
then runs of NumPy and, where installed, of torch on the CPU. Ends with status 1 if a tier of the
bound was exceeded or a control noticed nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attnproofs.reference.bounds import judge, judge_gradients
from attnproofs.reference.bounds.models import model
from tests.reference.bound_runs import (
    campaign,
    gradient_campaign,
    search,
    shift_case,
    underflow_case,
    variants,
)

#: Which model shows a missing term; shift and underflow have constructed cases.
CONTROLS = {
    "scores": ("textbook(float32)", "unfused-bf16", "unfused-fp16"),
    "exp": ("textbook(float32), poor exp",),
    "sums": ("textbook(float32)", "textbook(float16)", "textbook(bfloat16)"),
    "weights": ("fa2-bf16", "fa2-fp16", "unfused-bf16", "fp8-p"),
    "output": ("fa2-bf16", "fa2-fp16", "unfused-fp16"),
}


#: Models whose backward passes are emulated.
GRADIENT_MODELS = (
    "float64", "float32", "float16", "bfloat16", "fa2-bf16", "fa2-fp16", "unfused-bf16",
    "unfused-fp16", "textbook(float32)", "textbook(bfloat16)",
)  # fmt: skip


def control_model(name: str) -> Any:
    """Model of a control."""
    if name == "float32 inside float64":
        return next(each for each in variants() if each.name == name)
    if name.endswith(", poor exp"):
        return model("textbook(float32)", name=name, exp_error=200.0)
    return model(name)


def emulated(cases: int, seed: int) -> bool:
    """All models; True if nothing exceeded a bound."""
    total, good = 0, True
    print(f"{'model':28}{'runs':>8}{'outputs':>9}{'not cov.':>9}  beyond tier 2/1/0   nearest")
    for declared in variants():
        tally = campaign(declared, cases, 10, seed)
        total += tally.runs
        beyond = [tally.violations[f"tier {tier}"] for tier in (2, 1, 0)]
        good &= not any(beyond)
        print(
            f"{declared.name:28}{tally.runs:8}{tally.elements:9}{tally.uncovered:9}"
            f"  {'/'.join(map(str, beyond)):>17}   {max(tally.ratios):.3f}",
            *tally.first,
            sep="\n    " if tally.first else "",
            flush=True,
        )
    print(f"emulated runs: {total}\n")
    return good


def climbs(starts: int, seed: int) -> bool:
    """Search for the worst ratio of error to allowance; True if it stays below 1."""
    good = True
    for declared in variants():
        worst = search(declared, starts, seed)
        good &= worst <= 1
        print(f"search, {declared.name:28} {starts} starts: worst ratio {worst:.3f}", flush=True)
    print()
    return good


def controls(cases: int, seed: int) -> bool:
    """Each term left out in turn; True if every one is missed somewhere."""
    noticed = True
    for term, names in CONTROLS.items():
        found = 0
        for name in names:
            tally = campaign(control_model(name), cases, 10, seed, tiers=(2,), omit=((term,),))
            count = tally.violations[f"without {term}"]
            found += count
            print(f"without {term:10} {name:28}: {count:5} of {tally.runs} runs beyond", flush=True)
        noticed &= found > 0
    for term, (with_term, without) in (("shift", shift_case()), ("underflow", underflow_case())):
        print(f"without {term:10} constructed case: {without} of {with_term[1]} beyond")
        print(f"with all terms     constructed case: {with_term[0]} of {with_term[1]} beyond")
        noticed &= without > 0 and not with_term[0]
    print()
    return noticed


def gradient_runs(cases: int, seed: int) -> bool:
    """Emulated backward passes, and each term left out; True as in the others."""
    good = True
    found: Counter[str] = Counter()
    terms = ("scores", "exp", "sums", "weights", "output")
    print(f"{'gradients, model':28}{'runs':>8}{'outputs':>9}{'not cov.':>9}  beyond   nearest")
    for name in (*GRADIENT_MODELS, "textbook(float32), poor exp", "float32 inside float64"):
        omit = tuple((term,) for term in terms)
        tally = gradient_campaign(control_model(name), cases, 10, seed, omit=omit)
        beyond = tally.violations["bound"]
        good &= not beyond
        found.update({term: tally.violations[f"without {term}"] for term in terms})
        print(
            f"{name:28}{tally.runs:8}{tally.elements:9}{tally.uncovered:9}  {beyond:6}   "
            f"{max(tally.ratios):.3f}",
            *tally.first,
            sep="\n    " if tally.first else "",
            flush=True,
        )
    for term in terms:
        print(f"without {term:10}: {found[term]} runs beyond")
    print()
    return good and all(found[term] for term in terms)


def torch_gradients(seed: int, repeats: int) -> bool:
    """Autograd of torch on the CPU; True if none exceeded the bound."""
    good = True
    for name, declared, dtype, function in torch_kernels():
        import torch

        rng = np.random.default_rng([seed, 3, *name.encode(), *dtype.encode()])
        beyond = uncovered = 0
        nearest = 0.0
        for number in range(repeats):
            size, width = (3, 16, 64)[number % 3], (4, 16)[number % 2]
            shapes = ((2, min(size, 8), width), (2, size, width), (2, size, width))
            kind = getattr(torch, dtype)
            tensors = [
                torch.as_tensor(rng.standard_normal((1, *shape))).to(kind).requires_grad_()
                for shape in shapes
            ]
            keep = None
            if number % 2:
                keep = rng.random((shapes[0][1], size)) < 0.7
                keep[:, 0] = True
            out = function(*tensors, keep)
            grad = torch.as_tensor(rng.standard_normal(tuple(out.shape))).to(kind)
            out.backward(grad)
            numbers = [x.detach().double().numpy()[0] for x in (*tensors, grad)]
            got = tuple(x.grad.double().numpy()[0] for x in tensors)
            verdict = judge_gradients(*numbers, got, model=declared, attn_mask=keep)
            beyond += int(verdict.rejected)
            for part in (verdict.dq, verdict.dk, verdict.dv):
                uncovered += int((part.verdicts == "NOT COVERED").sum())
                nearest = max(nearest, float(np.nanmax(part.ratio)))
        good &= not beyond
        print(
            f"{name:22} {dtype:9} under {declared:18}: {repeats:4} gradients, {beyond} beyond, "
            f"{uncovered} not covered, nearest {nearest:.3f}",
            flush=True,
        )
    return good


Kernel = Callable[[Any, Any, Any, Any], Any]


def numpy_kernels() -> Iterator[tuple[str, str, str, Kernel]]:
    """Name, model, dtype and function of plain NumPy attentions."""

    def two_pass(q: Any, k: Any, v: Any, keep: Any) -> Any:
        s = q @ k.swapaxes(-1, -2) / np.sqrt(q.dtype.type(q.shape[-1]))
        s = np.where(keep, s, -np.inf) if keep is not None else s
        e = np.exp(s - s.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True)) @ v

    def divide_last(q: Any, k: Any, v: Any, keep: Any) -> Any:
        s = np.einsum("...le,...se->...ls", q, k) * q.dtype.type(q.shape[-1] ** -0.5)
        s = np.where(keep, s, -np.inf) if keep is not None else s
        e = np.exp(s - s.max(-1, keepdims=True))
        return np.einsum("...ls,...sd->...ld", e, v) / e.sum(-1)[..., None]

    def log_sum_exp(q: Any, k: Any, v: Any, keep: Any) -> Any:
        s = q @ k.swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
        s = np.where(keep, s, -np.inf) if keep is not None else s
        top = s.max(-1, keepdims=True)
        return np.exp(s - (top + np.log(np.exp(s - top).sum(-1, keepdims=True)))) @ v

    def online(q: Any, k: Any, v: Any, keep: Any, tile: int = 16) -> Any:
        scale = q.dtype.type(q.shape[-1] ** -0.5)
        top = np.full((*q.shape[:-1], 1), -np.inf, q.dtype)
        total, out = np.zeros_like(top), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
        for start in range(0, k.shape[-2], tile):
            s = q @ k[..., start : start + tile, :].swapaxes(-1, -2) * scale
            s = np.where(keep[..., start : start + tile], s, -np.inf) if keep is not None else s
            new = np.maximum(top, s.max(-1, keepdims=True))
            safe = np.where(np.isfinite(new), new, 0)
            e, alpha = np.exp(s - safe), np.exp(top - safe)
            total = alpha * total + e.sum(-1, keepdims=True)
            out = alpha * out + e @ v[..., start : start + tile, :]
            top = new
        return out / total

    for dtype in ("float64", "float32"):
        for function in (two_pass, divide_last, log_sum_exp, online):
            yield f"numpy {function.__name__}", dtype, dtype, function
    for function in (two_pass, divide_last):
        yield f"numpy {function.__name__}", "textbook(float16)", "float16", function


def torch_kernels() -> Iterator[tuple[str, str, str, Kernel]]:
    """The same for torch on the CPU; nothing where torch is missing."""
    try:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        return
    from torch.nn.functional import scaled_dot_product_attention

    torch.set_num_threads(1)

    def call(backend: Any) -> Kernel:
        def function(q: Any, k: Any, v: Any, keep: Any) -> Any:
            mask = None if keep is None else torch.as_tensor(keep)
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(q, k, v, attn_mask=mask)

        return function

    def separate(q: Any, k: Any, v: Any, keep: Any) -> Any:
        s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        s = s if keep is None else s.masked_fill(~torch.as_tensor(keep), -torch.inf)
        return torch.softmax(s, -1) @ v

    for dtype, declared in (
        ("float64", "float64"),
        ("float32", "float32"),
        ("bfloat16", "fa2-bf16"),
        ("float16", "fa2-fp16"),
    ):
        yield "torch sdpa flash", declared, dtype, call(SDPBackend.FLASH_ATTENTION)
        yield "torch sdpa math", declared, dtype, call(SDPBackend.MATH)
    for dtype, declared in (
        ("float32", "float32"),
        ("bfloat16", "unfused-bf16"),
        ("float16", "unfused-fp16"),
    ):
        yield "torch separate", declared, dtype, separate


def real(seed: int, repeats: int) -> bool:
    """Library runs; True if none exceeded the bound."""
    good = True
    kernels = [*numpy_kernels(), *torch_kernels()]
    for name, declared, dtype, function in kernels:
        rng = np.random.default_rng([seed, *name.encode(), *dtype.encode()])
        runs = beyond = uncovered = 0
        nearest = 0.0
        for number in range(repeats):
            size = (3, 16, 64, 200, 1000)[number % 5]
            heads, rows, width = 2, min(size, 8), (4, 16, 64)[number % 3]
            spread = (0.3, 1.0, 4.0)[number % 3]
            q = rng.standard_normal((heads, rows, width)) * spread
            k = rng.standard_normal((heads, size, width))
            v = rng.standard_normal((heads, size, width)) + (number % 4) * 2.0
            keep = None
            if number % 2:
                keep = rng.random((rows, size)) < 0.7
                keep[:, 0] = True
            if name.startswith("torch"):
                import torch

                tensors = [torch.as_tensor(x).to(getattr(torch, dtype)) for x in (q, k, v)]
                got = function(*(x[None] for x in tensors), keep)[0].double().numpy()
                inputs = [x.double().numpy() for x in tensors]
            else:
                inputs = [x.astype(dtype) for x in (q, k, v)]
                got = function(*inputs, keep)
            verdict = judge(*inputs, got, model=declared, attn_mask=keep)
            runs += 1
            beyond += int(verdict.rejected)
            uncovered += int((verdict.verdicts == "NOT COVERED").sum())
            nearest = max(nearest, float(np.nanmax(verdict.ratio)))
        good &= not beyond
        print(
            f"{name:22} {dtype:9} under {declared:18}: {runs:4} runs, {beyond} beyond, "
            f"{uncovered} not covered, nearest {nearest:.3f}",
            flush=True,
        )
    return good


def main() -> int:
    """Run all three parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100, help="cases a model, ten runs each")
    parser.add_argument("--repeats", type=int, default=15, help="runs of each library function")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.monotonic()
    print(f"seed {arguments.seed}, {arguments.cases} cases a model")
    results = [
        emulated(arguments.cases, arguments.seed),
        climbs(max(3, arguments.cases // 20), arguments.seed + 3),
        controls(max(20, arguments.cases // 4), arguments.seed + 1),
        gradient_runs(max(20, arguments.cases // 4), arguments.seed + 2),
        real(arguments.seed, arguments.repeats),
        torch_gradients(arguments.seed, max(6, arguments.repeats // 2)),
    ]
    print(f"{time.monotonic() - start:.0f} s; {'held' if all(results) else 'FAILED'}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
