"""Speed of the reference, as ratios within one run.

    python -m tests.benchmarks.reference_speed [--quick]

At 50 digits: the pure-Python core and the flint backend against `mpmath` matrices and against a
straightforward hand-written `arb_mat` version that ends with the same thing, midpoints and radii
as floats. Processor time of one thread, the smallest of several runs taken in turn. Then
growth with T, and one call at T = 1024, d = 64 on flint in a process of its own with its peak
memory. The exit status is 1 if a stated ratio is not met; the one against `arb_mat` is asked for
from T = 32 on, since below that the reading of the arguments (masks, shapes, formats), which a line
written by hand leaves out, is most of the time.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import argparse
import math
import resource
import subprocess
import sys
import time

import mpmath
import numpy as np
from flint import arb, arb_mat, ctx

from attnproofs.reference import attention

DIGITS = 50
BITS = math.ceil(DIGITS * math.log2(10))
SIZES = {8: 8, 32: 16, 64: 64, 128: 64, 256: 64}
MPMATH_OVER_FLINT, MPMATH_OVER_PYTHON, HAND_LIMIT, GROWTH = 80, 8, 1.3, 2.0


def inputs(T: int, d: int):
    rng = np.random.default_rng(T)
    return [rng.standard_normal((T, d)) for _ in range(3)]


def with_mpmath(q, k, v):
    """Attention with `mpmath` matrices."""
    with mpmath.workdps(DIGITS):
        Q, K, V = (mpmath.matrix(x.tolist()) for x in (q, k, v))
        S = Q * K.T / mpmath.sqrt(Q.cols)
        for i in range(S.rows):
            row = [mpmath.exp(S[i, j]) for j in range(S.cols)]
            total = mpmath.fsum(row)
            for j in range(S.cols):
                S[i, j] = row[j] / total
        return S * V


def by_hand(q, k, v):
    """What one would write with `arb_mat`."""
    ctx.prec = BITS
    Q, K, V = (arb_mat(x.tolist()) for x in (q, k, v))
    S = Q * K.transpose() * (1 / arb(q.shape[1]).sqrt())
    P = []
    for row in S.tolist():
        e = [x.exp() for x in row]
        total = sum(e)
        P.append([x / total for x in e])
    O = (arb_mat(P) * V).entries()
    return [float(x) for x in O], [float(x.rad()) for x in O]


def with_flint(q, k, v):
    """This package on flint."""
    return attention(q, k, v, precision=f"{DIGITS} digits", backend="flint").output.as_floats()


def with_python(q, k, v):
    """This package on Python integers."""
    return attention(q, k, v, precision=f"{DIGITS} digits", backend="python").output.as_floats()


def best_times(functions, arguments, runs: int) -> list[float]:
    """Smallest processor time of each function, in seconds."""
    best = [math.inf] * len(functions)
    for _ in range(runs):
        for n, f in enumerate(functions):
            start = time.process_time()
            f(*arguments)
            best[n] = min(best[n], time.process_time() - start)
    return best


def large_call() -> None:
    """The call at T = 1024, in a process of its own: prints seconds and peak memory in MB."""
    q, k, v = inputs(1024, 64)
    start = time.process_time()
    with_flint(q, k, v)
    seconds = time.process_time() - start
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out T = 128 and more")
    parser.add_argument("--large-call", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.large_call:
        large_call()
        return 0
    print(
        "   T   d |  mpmath s   flint s  python s    hand s | mpmath/flint mpmath/python flint/hand"
    )
    times, failed = {}, []
    for T, d in SIZES.items():
        if args.quick and T > 64:
            break
        arguments = inputs(T, d)
        slow, *_ = best_times([with_mpmath], arguments, 1 if T > 64 else 3)
        runs = 200 if T == 8 else 50 if T == 32 else 11
        flint, python, hand = best_times([with_flint, with_python, by_hand], arguments, runs)
        times[T] = flint, python
        print(
            f"{T:4} {d:3} | {slow:9.4f} {flint:9.5f} {python:9.5f} {hand:9.5f} | "
            f"{slow / flint:12.1f} {slow / python:13.1f} {flint / hand:10.2f}",
            flush=True,
        )
        if T >= 32 and flint / hand > HAND_LIMIT:
            failed.append(f"against hand-written arb_mat at T = {T}")
        beaten = slow / flint >= MPMATH_OVER_FLINT and slow / python >= MPMATH_OVER_PYTHON
        if T == 256 and not beaten:
            failed.append("against mpmath matrices at T = 256")
    if not args.quick:
        for name, n in (("flint", 0), ("python", 1)):
            power = math.log2(times[256][n] / times[64][n]) / 2
            print(f"{name}: time grows as T**{power:.2f} from T = 64 to 256")
            if power > GROWTH:
                failed.append(f"growth of {name}")
        command = [sys.executable, "-m", "tests.benchmarks.reference_speed", "--large-call"]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        seconds, megabytes = map(float, out.split())
        print(f"flint, T = 1024, d = 64: {seconds:.2f} s, peak {megabytes:.0f} MB")
        if seconds > 4 or megabytes > 1000:
            failed.append("T = 1024")
    for what in failed:
        print(f"NOT MET: {what}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
