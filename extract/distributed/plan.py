"""What a worker is told of a run: all that makes its client and its recipe the same as the driver's.

It travels to other machines, so it holds plain values, and a user's own schema and prompt as text. Knows no Ray.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from extract.budget import Price
from extract.errors import BudgetReached, ClaimbaseError, FatalError, Kind, MistakeError, RunInterrupted
from extract.recipe import Recipe, make_recipe
from extract.settings import Asking, Endpoint, Limits, Patience
from store.journal import Begun
from store.rows import Outcome


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that a person named, as text under its name: on other machines it isn't there."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A run as its workers know it. `limits` are those of the whole run; `workers` is how many they are meant to be."""

    begun: Begun
    asking: Asking
    schema: str
    prompt: str | None
    files: tuple[OwnFile, ...]
    endpoint: Endpoint
    limits: Limits
    price: Price | None
    patience: Patience
    parts: str
    workers: int

    @property
    def places(self) -> int:
        """A worker's even share of the concurrency, rounded up."""
        return -(-self.limits.concurrency // self.workers)


@dataclass(frozen=True, slots=True)
class Stopped:
    """An error that ends a run, as it travels: what kind it was, and its words."""

    sort: str
    words: str
    kind: Kind = "server"

    @classmethod
    def by(cls, error: Exception) -> "Stopped":
        """Return what travels for an error."""
        return cls(type(error).__name__, str(error), error.kind if isinstance(error, FatalError) else "server")

    def error(self) -> ClaimbaseError:
        """Return the error as the engine knows it."""
        if self.sort == "FatalError":
            return FatalError(self.kind, self.words)
        if self.sort == "BudgetReached":
            return BudgetReached(self.words)
        return RunInterrupted(self.words) if self.sort == "RunInterrupted" else MistakeError(self.words)


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a block of records: bare outcomes of those that were asked, and what stopped the worker, if so."""

    outcomes: tuple[Outcome, ...]
    stopped: Stopped | None = None


def own_files(schema: str, prompt: str | None) -> tuple[OwnFile, ...]:
    """Return the files among a schema's and a prompt's names, for `recipe_of` to find them elsewhere."""
    named = [schema.rpartition(":")[0], prompt or ""]
    return tuple(OwnFile(name, Path(name).read_text("utf-8")) for name in named if name and Path(name).is_file())


def recipe_of(plan: Plan) -> Recipe:
    """Make the run's recipe, here. Raises MistakeError if it comes out as another than the driver's."""
    with tempfile.TemporaryDirectory(prefix="claimbase-") as folder:
        schema, prompt = plan.schema, plan.prompt
        for n, file in enumerate(plan.files):
            copy = Path(folder, str(n), Path(file.name).name)
            copy.parent.mkdir()
            copy.write_text(file.text, encoding="utf-8")
            if schema.startswith(f"{file.name}:"):
                schema = f"{copy}{schema[len(file.name) :]}"
            elif prompt == file.name:
                prompt = str(copy)
        recipe = make_recipe(schema, prompt, plan.asking)
    if recipe.hash != plan.begun.run.recipe:
        raise MistakeError(
            f"a worker makes recipe {recipe.hash} of what is {plan.begun.run.recipe} here: its claimbase is another "
            f"version; install {plan.begun.run.code_version} on every node"
        )
    return recipe
