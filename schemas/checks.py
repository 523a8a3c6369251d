"""What a model must meet to be a schema, beyond being a Pydantic model: each broken rule is one line.

It walks no fields into columns (`shape` does) and knows no endpoint (`sent` does).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, PydanticUndefinedAnnotation, PydanticUserError, RootModel

from schemas.base import MARK, SchemaError
from schemas.wording import Node


def complete(model: type[BaseModel]) -> None:
    """Have Pydantic look up the names that the model's annotations leave for later. Raises SchemaError for one lost."""
    try:
        model.model_rebuild(_types_namespace={})
    except PydanticUndefinedAnnotation as e:
        raise SchemaError(
            f"schema {model.__name__!r}: a field is annotated with {e.name!r}, which is not defined; define it in, or "
            "import it at the top of, the same file"
        ) from e


def json_schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return Pydantic's JSON schema of replies of this model. Raises SchemaError for what JSON can't say."""
    try:
        return model.model_json_schema()
    except PydanticUserError as e:  # an annotation such as a function's, whatever Pydantic calls the error
        why = str(e).partition("\n")[0]
        raise SchemaError(f"schema {model.__name__!r} can't be said in JSON Schema: {why}") from e


def usable(model: type[BaseModel]) -> None:
    """Raise SchemaError for a model whose replies are no objects of its fields, or that has fields alike in a table."""
    where = f"schema {model.__name__!r}"
    if issubclass(model, RootModel):
        raise SchemaError(f"{where}: a root model is no object of fields; give a BaseModel a field with what it holds")
    if model.__pydantic_decorators__.model_serializers:
        raise SchemaError(f"{where}: a model_serializer hides the fields; leave it out, and compute fields instead")
    seen: dict[str, str] = {}
    for name in (*model.model_fields, *model.model_computed_fields):
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise SchemaError(
                f"{where}: the fields {other!r} and {name!r} differ in case only, which SQL doesn't see; rename one"
            )


def ends(name: str, json_schema: Mapping[str, Any]) -> None:
    """Raise SchemaError for a model that holds itself, however deep: its tables would have no end."""
    definitions: Mapping[str, Node] = json_schema.get("$defs", {})
    held = {key: set(_references(node)) for key, node in definitions.items()}
    done: set[str] = set()

    def walk(key: str, above: tuple[str, ...]) -> None:
        if key in above:
            raise SchemaError(f"schema {name!r}: {key!r} holds itself; a schema must end somewhere")
        if key not in done:
            for other in held[key]:
                walk(other, (*above, key))
            done.add(key)

    for key in held:
        walk(key, ())


def marked_within(node: Node, definitions: Mapping[str, Node], seen: frozenset[str] = frozenset()) -> bool:
    """Does a JSON schema hold the mark of a field (a quote, the value of one), in itself or in what it refers to?"""
    if any(key.startswith(MARK) for each in _objects(node) for key in each):
        return True
    references = set(_references(node)) - seen
    return any(marked_within(definitions[key], definitions, seen | references) for key in references)


def _references(node: object) -> Iterator[str]:
    for each in _objects(node):
        reference = each.get("$ref")
        if isinstance(reference, str):
            yield reference.rpartition("/")[2]


def _objects(node: object) -> Iterator[Mapping[str, Any]]:
    """All objects within a JSON schema, itself first; what a reference leads to is not within."""
    if isinstance(node, Mapping):
        yield node
    parts: Iterable[object] = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
    for part in parts:
        yield from _objects(part)
