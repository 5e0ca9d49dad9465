"""Parts of your own, which settings name as `module:Name`: an encoder, a policy, an objective, hooks."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from hogwild.config.settings import Settings
from hogwild.config.suggest import unknown
from hogwild.errors import UsageError


def is_own(name: str) -> bool:
    """Whether a name means something outside this package.

    >>> is_own("my_module:Encoder"), is_own("a3c")
    (True, False)
    """
    return ":" in name


def name_of(part: Any) -> Any:
    """The name of a class that was given itself, by which it is found again; anything else as it is.

    >>> name_of(UsageError), name_of("a3c")
    ('hogwild.errors:UsageError', 'a3c')
    """
    if not isinstance(part, type):
        return part
    module = _script() if part.__module__ == "__main__" else part.__module__
    if not module or "<locals>" in part.__qualname__:
        where = "a function" if module else "what has no file"
        raise UsageError(
            f"{part.__qualname__} is defined in {where}, where nobody finds it again: put it into a module."
        )
    return f"{module}:{part.__qualname__}"


def _script() -> str:
    """The module that the running script is to others; empty if it is none."""
    main = sys.modules["__main__"]
    if main.__spec__ is not None:
        return main.__spec__.name
    path = getattr(main, "__file__", None)
    return Path(path).stem if path and os.path.exists(path) else ""


def load_own(name: str, flag: str) -> Any:
    """What `module:Name` means; `flag` is the one that named it.

    >>> load_own("math:sqrt", "--encoder")(9.0)
    3.0
    """
    module, _, attribute = name.partition(":")
    main = sys.modules["__main__"]
    try:
        # The script that runs is there already: to import it would run it once more.
        is_main = module == _script() and hasattr(main, attribute.partition(".")[0])
        found: Any = main if is_main else importlib.import_module(module)
    except Exception as error:  # whatever its own code raises
        words = f"{type(error).__name__}: {error}" if not isinstance(error, ImportError) else str(error)
        raise UsageError(f"{flag} {name}: '{module}' cannot be imported: {words}.") from error
    for word in attribute.split("."):  # of a class inside a class
        if not hasattr(found, word):
            names = [known for known in vars(found) if not known.startswith("_")]
            raise UsageError(f"{flag} {name}: {unknown(f'name in {module!r},', word, names)}")
        found = getattr(found, word)
    return found


def require_own(settings: Settings) -> None:
    """Refuse parts of your own that are not there, or cannot be what they are named for, before anything starts."""
    for name, flag, methods in (
        (settings.policy.encoder, "--encoder", ()),
        (settings.policy.policy_class, "--policy-class", ()),
        (settings.objective.objective, "--objective", ("of_worker", "minibatches", "loss")),
        (settings.run.hooks, "--hooks", ()),
    ):
        part = load_own(name, flag) if is_own(name) else None
        missing = [method for method in methods if part is not None and not hasattr(part, method)]
        if missing:
            raise UsageError(f"{flag} {name}: it has no {' and no '.join(missing)}.")
