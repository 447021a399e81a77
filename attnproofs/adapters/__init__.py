"""Named targets: attention functions of real libraries, each one small file with what it claims.

An adapter renames arguments to the calling convention of the contract and converts arrays; it never
hides a convention of the library, which its profile declares. Importing this package imports no
framework; `get` imports the one it needs.

Other packages add adapters by the entry-point group ``attnproofs.adapters``, each entry naming an
`Adapter`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from attnproofs.adapters.base import Adapter
from attnproofs.errors import MissingDependency, TargetError

__all__ = ["Adapter", "get", "installed", "names", "requirement"]

GROUP = "attnproofs.adapters"

#: Where installed libraries are known to depart from their own profile.
KNOWN = Path(__file__).with_name("known.toml")

# name -> (module in this folder, its Adapter, packages it needs, extra of ours that installs them)
_BUILT_IN: dict[str, tuple[str, str, tuple[str, ...], str]] = {
    "numpy-reference": ("numpy_reference", "ADAPTER", ("numpy",), ""),
    "torch-sdpa": ("frameworks.torch_sdpa", "ADAPTER", ("torch",), "torch"),
    "torch-sdpa-math": ("frameworks.torch_sdpa", "MATH", ("torch",), "torch"),
    "torch-mha": ("frameworks.torch_mha", "ADAPTER", ("torch",), "torch"),
    "torch-mha-weights": ("frameworks.torch_mha", "WEIGHTS", ("torch",), "torch"),
    "torch-mha-fastpath": ("frameworks.torch_mha", "FASTPATH", ("torch",), "torch"),
    "torch-flex": ("frameworks.torch_flex", "ADAPTER", ("torch",), "torch"),
    "jax-dpa": ("frameworks.jax_dpa", "ADAPTER", ("jax",), "jax"),
    "flax-dpa": ("frameworks.flax_dpa", "ADAPTER", ("jax", "flax"), "flax"),
    "flax-nnx-dpa": ("frameworks.flax_dpa", "NNX", ("jax", "flax"), "flax"),
    "onnx-reference": ("frameworks.onnx_reference", "ADAPTER", ("onnx",), "onnx"),
    "onnx-reference-23": ("frameworks.onnx_reference", "OPSET_23", ("onnx",), "onnx"),
    "onnxruntime": ("frameworks.onnx_runtime", "ADAPTER", ("onnx", "onnxruntime"), "onnx"),
    "keras-dpa": ("frameworks.keras_dpa", "ADAPTER", ("keras",), "keras"),
    "keras-mha": ("frameworks.keras_mha", "ADAPTER", ("keras",), "keras"),
    "keras-mha-scores": ("frameworks.keras_mha", "SCORES", ("keras",), "keras"),
    "hf-eager": ("frameworks.hf_attention", "ADAPTER", ("torch", "transformers"), "hf"),
    "hf-sdpa": ("frameworks.hf_attention", "SDPA", ("torch", "transformers"), "hf"),
    "mlx-sdpa": ("frameworks.mlx_sdpa", "ADAPTER", ("mlx",), "mlx"),
}


def _third_party() -> dict[str, EntryPoint]:
    """Entry points of other packages; a name of ours cannot be taken over."""
    return {e.name: e for e in entry_points(group=GROUP) if e.name not in _BUILT_IN}


def names() -> tuple[str, ...]:
    """Every adapter's name, installed framework or not, ours first.

    Examples
    --------
    >>> names()[0]
    'numpy-reference'
    """
    return (*_BUILT_IN, *sorted(_third_party()))


def installed() -> tuple[str, ...]:
    """Names of the adapters whose framework is present, found without importing it."""
    ours = [name for name, (_, _, needs, _) in _BUILT_IN.items() if all(map(find_spec, needs))]
    return (*ours, *sorted(_third_party()))


def requirement(name: str) -> str:
    """What to install for an adapter: a requirement for pip, or the package that brought it.

    Examples
    --------
    >>> requirement("flax-dpa")
    'attnproofs[flax]'
    """
    if name in _BUILT_IN:
        extra = _BUILT_IN[name][3]
        return f"attnproofs[{extra}]" if extra else "attnproofs"
    owner = _third_party()[name].dist
    return owner.name if owner else "unknown"


def get(name: str) -> Adapter:
    """Load the adapter called `name`, and with it its framework.

    Raises
    ------
    TargetError
        When there is no such adapter, or another package's entry point names something else.
    MissingDependency
        When its framework is not installed; says how to install it.
    """
    if name in _BUILT_IN:
        module, attribute, needs, extra = _BUILT_IN[name]
        missing = [package for package in needs if find_spec(package) is None]
        if missing:
            raise MissingDependency(
                f"adapter {name} needs {' and '.join(missing)}: pip install 'attnproofs[{extra}]'"
            )
        adapter: Adapter = getattr(import_module(f"attnproofs.adapters.{module}"), attribute)
        return adapter
    others = _third_party()
    if name not in others:
        raise TargetError(f"no adapter {name!r}; adapters: {', '.join(names())}")
    entry = others[name]
    owner = f"adapter {name} (entry point {entry.value!r})"
    try:
        loaded = entry.load()
    except ImportError as error:
        raise MissingDependency(
            f"{owner} cannot be imported: {error}; install what it needs"
        ) from error
    except AttributeError as error:
        raise TargetError(f"{owner}: {error}") from error
    if not isinstance(loaded, Adapter):
        raise TargetError(
            f"{owner} is a {type(loaded).__name__}; expected an attnproofs.adapters.Adapter"
        )
    return loaded
