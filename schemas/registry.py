"""Finds a schema by its name, or in a user's own file, and fingerprints it.

A user's file is loaded by its path, never from the working folder by a module name, so that no stray `paper.py` or
`json.py` there is picked up by mistake.
"""

import hashlib
import importlib.util
import json
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel

from schemas.base import SchemaError
from schemas.paper import Paper
from schemas.shape import FieldShape, Structure, shape_of, structure_of

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
    no Pydantic model, or a model that can't be walked.
    """
    if ":" not in spec:
        if spec not in SHIPPED:
            raise SchemaError(
                f"unknown schema {spec!r}; shipped: {', '.join(sorted(SHIPPED))}; your own: path/to/file.py:Class"
            )
        return fingerprinted(spec, SHIPPED[spec])
    path, _, name = spec.rpartition(":")
    found = getattr(_load_file(Path(path)), name, None)
    if not (isinstance(found, type) and issubclass(found, BaseModel)):
        what = "no such class" if found is None else "not a Pydantic model"
        raise SchemaError(f"schema {spec!r}: {name!r} is {what}; name a subclass of pydantic.BaseModel in {path}")
    return fingerprinted(_snake(name), found)


def fingerprinted(name: str, model: type[BaseModel]) -> LoadedSchema:
    """Read the shape of `model` and hash all that makes a reply what it is: its JSON schema, with the marks in it.

    What is derived from a reply (computed fields, columns) is no part of the hash, so that it can get better without
    asking again.
    """
    fields = shape_of(model)
    if not fields:
        raise SchemaError(f"schema {name!r}: {model.__name__!r} has no fields; give it at least one")
    structure = structure_of(fields)
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
    try:
        spec.loader.exec_module(module)
    except Exception as e:  # the user's own code may raise anything
        raise SchemaError(f"schema file {str(path)!r} fails when loaded: {type(e).__name__}: {e}") from e
    return module


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
