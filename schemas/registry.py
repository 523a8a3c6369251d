"""Finds a schema by its name, or in a user's own file, and fingerprints it.

A user's file is loaded by its path, never from the working folder by a module name, so that no stray `paper.py` or
`json.py` there is picked up by mistake. It may import other modules from its own folder, which come after all that is
installed.
"""

import contextlib
import hashlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel

from schemas.base import SchemaError
from schemas.paper import Paper
from schemas.shape import FieldShape, Structure, claims_structure, shape_of

SHIPPED: dict[str, type[BaseModel]] = {"paper": Paper}


@dataclass(frozen=True, slots=True)
class LoadedSchema:
    """A schema ready for use. `hash` changes when the fields that a model is asked for, their rules or marks do."""

    name: str
    model: type[BaseModel]
    fields: tuple[FieldShape, ...]
    structure: dict[str, Structure]
    json_schema: str
    hash: str


def load_schema(spec: str) -> LoadedSchema:
    """Load a shipped schema by `name`, or `path/to/file.py:Class`.

    Raises SchemaError with one line for a name that isn't known, a file or class that isn't there, a class that is
    no Pydantic model or is called as a shipped one, or a model that can't be a schema.
    """
    if ":" not in spec:
        if spec not in SHIPPED:
            raise SchemaError(
                f"unknown schema {spec!r}; shipped: {', '.join(sorted(SHIPPED))}; your own: path/to/file.py:Class"
            )
        return fingerprinted(spec, SHIPPED[spec])
    file, _, name = spec.rpartition(":")
    path = Path(file)
    with _siblings(path):
        found = getattr(_load_file(path), name, None)
        if not (isinstance(found, type) and issubclass(found, BaseModel)):
            what = "no such class" if found is None else "not a Pydantic model"
            raise SchemaError(f"schema {spec!r}: {name!r} is {what}; name a subclass of pydantic.BaseModel in {path}")
        if _snake(name) in SHIPPED:
            raise SchemaError(f"schema {spec!r}: {_snake(name)!r} is the name of a shipped schema; rename the class")
        return fingerprinted(_snake(name), found)


def fingerprinted(name: str, model: type[BaseModel]) -> LoadedSchema:
    """Read the shape of `model` and hash all that makes a reply what it is: its JSON schema, with the marks in it.

    What is derived from a reply (computed fields, columns) is no part of the hash, so that it can get better without
    asking again.
    """
    fields = shape_of(model)
    if not fields:
        raise SchemaError(f"schema {name!r}: {model.__name__!r} has no fields; give it at least one")
    structure = claims_structure(fields)
    json_schema = json.dumps(model.model_json_schema(), ensure_ascii=False, sort_keys=True)
    digest = hashlib.sha256(f"{name}\0{json_schema}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return LoadedSchema(name, model, fields, structure, json_schema, f"s1-{digest}")


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise SchemaError(f"schema file {str(path)!r} does not exist; give path/to/file.py:Class")
    spec = importlib.util.spec_from_file_location(f"_schema_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SchemaError(f"schema file {str(path)!r} is no Python file; give path/to/file.py:Class")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where Pydantic looks up what the file's annotations name
    try:
        spec.loader.exec_module(module)
    except Exception as e:  # the user's own code may raise anything
        del sys.modules[spec.name]
        why = " ".join(str(e).partition("\n")[0].split())
        raise SchemaError(f"schema file {str(path)!r} fails when loaded: {type(e).__name__}: {why}") from e
    return module


@contextlib.contextmanager
def _siblings(path: Path) -> Iterator[None]:
    """Let a schema's file import modules that lie beside it. They are forgotten again: the next file has its own."""
    folder = str(path.parent.resolve())
    if folder in map(_resolved, sys.path):
        yield
        return
    before = set(sys.modules)
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        new = set(sys.modules) - before
        beside = {name for name in new if _lies_in(folder, sys.modules[name])}
        for name in new:
            if name.partition(".")[0] in beside:
                del sys.modules[name]


def _lies_in(folder: str, module: ModuleType) -> bool:
    """Is it a module or a package right in this folder, and not of what is installed somewhere below it?"""
    file = Path(getattr(module, "__file__", None) or "/")
    return str((file.parent.parent if file.name == "__init__.py" else file.parent).resolve()) == folder


def _resolved(folder: str) -> str:
    return str(Path(folder).resolve())


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
