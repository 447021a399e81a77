"""Loading a user's proof script: any file that declares a theorem."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path

from attnproofs.calculus.theorem import Theorem
from attnproofs.errors import AttnproofsError, InputError


def theorems_in_file(path: Path) -> list[Theorem]:
    """Run a Python file and return the theorems that it declares, in order.

    Raises
    ------
    InputError
        When there is no such file, it does not run, or it declares no theorem.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except AttnproofsError:
        raise
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(
            f"{path} does not run: {type(error).__name__}: {error} (line {where.lineno} of "
            f"{Path(where.filename).name})"
        ) from error
    found = [v for v in vars(module).values() if isinstance(v, Theorem)]
    # a lemma that the script imports from the catalogue is not one of its own claims
    own = [t for t in dict.fromkeys(found) if not of_catalogue(t)]
    if not own:
        raise InputError(
            f"{path} declares no theorem: give a module-level name to a "
            "`Theorem(id=..., ...)` (see 'Write your own proof' in the documentation)"
        )
    return own


def of_catalogue(theorem: Theorem) -> bool:
    """Tell whether a theorem comes from a file of the catalogue."""
    source = theorem.parts[0].statement.__module__
    return source.startswith("attnproofs.theorems.")
