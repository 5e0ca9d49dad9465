"""Parts of your own, which settings name as `module:Name`: an encoder, a policy, an objective, hooks."""

import importlib
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
    """The name of a class that was given itself; anything else as it is.

    >>> name_of(UsageError), name_of("a3c")
    ('hogwild.errors:UsageError', 'a3c')
    """
    return f"{part.__module__}:{part.__qualname__}" if isinstance(part, type) else part


def load_own(name: str, flag: str) -> Any:
    """What `module:Name` means; `flag` is the one that named it.

    >>> load_own("math:sqrt", "--encoder")(9.0)
    3.0
    """
    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
    except Exception as error:  # whatever its own code raises
        words = f"{type(error).__name__}: {error}" if not isinstance(error, ImportError) else str(error)
        raise UsageError(f"{flag} {name}: '{module}' cannot be imported: {words}.") from error
    if not hasattr(found, attribute):
        names = [known for known in vars(found) if not known.startswith("_")]
        raise UsageError(f"{flag} {name}: {unknown(f'name in {module!r},', attribute, names)}")
    return getattr(found, attribute)


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
