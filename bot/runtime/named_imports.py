"""Import of a large package what is asked of it, and not all that its ``__init__`` names.

Generated clients have packages whose ``__init__`` is a thousand lines of ``from .message import Message as Message``:
whoever wants one name imports every module, and builds each of their classes. For the packages under a root that was
given to :func:`by_name` such an ``__init__`` is read instead of run. A name is imported when it is asked for, by the
module's own ``__getattr__`` (PEP 562). What else the ``__init__`` does is done, all of it, when something is asked for
that only that makes.

No file of the package is changed, and its classes are the very same. An ``__init__`` that cannot be read like this is
run as ever, and if the package turns out to be laid out in another way, all of it is.
"""

from __future__ import annotations

import ast
import importlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_INIT: Final = "__init__.py"
_ALL: Final = "__all__"
_MAKES_THINGS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Delete)
"""Whoever runs these twice has two of them."""


def by_name(root: str, *needed: str) -> bool:
    """From now on the packages of this one import what is asked of them. ``needed`` (``package.module:Name``) is
    imported at once. False where all is imported as ever: someone has imported it before, or one of these is not to be
    had like this."""
    if root in sys.modules:
        return False
    finder = _Finder(root)
    sys.meta_path.insert(0, finder)
    try:
        for one in needed:
            module, _, name = one.partition(":")
            getattr(importlib.import_module(module), name)
    except Exception:  # noqa: BLE001  # what goes wrong in a package that is laid out otherwise may be anything
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_under(name, root)]:
            del sys.modules[name]
        return False
    return True


def _is_under(name: str, root: str) -> bool:
    return name == root or name.startswith(f"{root}.")


@dataclass(frozen=True)
class _Named:
    """What an ``__init__`` says. ``elsewhere``: a name, and the module and the name there that it stands for;
    ``own``: names that its other statements bind."""

    elsewhere: Mapping[str, tuple[str, str]]
    own: frozenset[str]
    modules: frozenset[str]
    """Those that lie in its folder."""
    stated: tuple[str, ...] | None
    """Its `__all__`, where that is a plain list."""

    @property
    def public(self) -> list[str] | None:
        """What `import *` takes. None: that takes a run."""
        if self.stated is not None or _ALL in self.own:
            return list(self.stated) if self.stated is not None else None
        return sorted(name for name in {*self.elsewhere, *self.own} if not name.startswith("_"))


class _Finder(MetaPathFinder):
    def __init__(self, root: str) -> None:
        self._root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_under(fullname, self._root):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.submodule_search_locations and type(spec.loader) is SourceFileLoader:
            named = _read(fullname, Path(spec.loader.path))
            if named:
                spec.loader = _Loader(fullname, spec.loader.path, named)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, named: _Named) -> None:
        super().__init__(fullname, path)
        self._named = named
        self._running = set[int]()
        """Threads that run the whole of it."""

    def exec_module(self, module: ModuleType) -> None:
        def get(name: str) -> Any:
            return self._get(module, name)

        def names() -> list[str]:
            return sorted({*vars(module), *self._named.elsewhere, *self._named.own})

        vars(module).update(__getattr__=get, __dir__=names)

    def _get(self, module: ModuleType, name: str) -> Any:
        """A name that the module does not have yet. Raises AttributeError."""
        named = self._named
        if name in named.elsewhere:
            value = _import(*named.elsewhere[name], to=module.__name__)
            setattr(module, name, value)
            return value
        if name in named.own:
            self._run(module)
            if name in vars(module):
                return vars(module)[name]
        elif name == _ALL:
            return named.public
        elif name in named.modules:
            return importlib.import_module(f"{module.__name__}.{name}")
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    def _run(self, module: ModuleType) -> None:
        here = threading.get_ident()
        if here not in self._running:
            self._running.add(here)
            try:
                super().exec_module(module)
            finally:
                self._running.discard(here)


def _import(module: str, name: str, *, to: str) -> Any:
    """As `from module import name` in the package ``to`` does."""
    if module != to:
        source = importlib.import_module(module)
        if hasattr(source, name):
            return getattr(source, name)
    return importlib.import_module(f"{module}.{name}")


def _read(package: str, path: Path) -> _Named | None:
    """None: it has to be run. Raises OSError, SyntaxError."""
    elsewhere: dict[str, tuple[str, str]] = {}
    own = set[str]()
    stated: tuple[str, ...] | None = None
    for statement in ast.parse(path.read_bytes()).body:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            named = _named(statement, package, path)
            if named is None:
                return None
            elsewhere |= named
        elif not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            if any(isinstance(part, _MAKES_THINGS) for part in ast.walk(statement)):
                return None
            bound = set(_bound(statement))
            if _ALL in bound:
                stated = None if _ALL in own else _list(statement)
            own |= bound
    modules = frozenset(one.stem for one in path.parent.iterdir() if one.suffix == ".py" or (one / _INIT).exists())
    hidden = {name for name, (module, of) in elsewhere.items() if name in modules and (module, of) != (package, name)}
    if hidden or not elsewhere:  # a name that its module's own name would take the place of
        return None
    ours = {name: source for name, source in elsewhere.items() if name not in own}
    return _Named(ours, frozenset(own), modules, stated)


def _list(statement: ast.stmt) -> tuple[str, ...] | None:
    """The texts that this assigns; None where it does anything else."""
    if not isinstance(statement, ast.Assign):
        return None
    try:
        return tuple(map(str, ast.literal_eval(statement.value)))
    except (ValueError, TypeError):
        return None


def _named(statement: ast.ImportFrom, package: str, path: Path) -> dict[str, tuple[str, str]] | None:
    """What such a line names; None where that cannot be known without running what it is of."""
    module = resolve_name("." * statement.level + (statement.module or ""), package)
    if statement.names[0].name != "*":
        return {alias.asname or alias.name: (module, alias.name) for alias in statement.names}
    init = path.parent.joinpath(*(statement.module or "").split("."), _INIT)
    whole = _read(module, init) if statement.level == 1 and statement.module and init.is_file() else None
    public = whole.public if whole else None
    return None if public is None else {name: (module, name) for name in public}


def _bound(statement: ast.stmt) -> Iterator[str]:
    for part in ast.walk(statement):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            for alias in part.names:
                yield (alias.asname or alias.name).partition(".")[0]
