"""What every command of the command line shares: its options, how it speaks to a person, how it ends.

Data goes to standard output, all else to standard error (`docs/cli.md` is the contract). It knows no command.
"""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from extract.errors import ClaimbaseError
from extract.settings import LOCAL
from prompts.loader import PromptError
from schemas.base import SchemaError
from store.errors import StoreError
from store.text import visible

MISTAKE, INCOMPLETE, INTERRUPTED = 2, 3, 130
P = ParamSpec("P")
Db = Annotated[Path, typer.Option("--db", metavar="FILE", help="The database.")]
Model = Annotated[
    str, typer.Option(metavar="NAME", help=f"'{LOCAL}' is the embedded model; any other is the endpoint's.")
]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="An OpenAI-compatible endpoint; unless given, OPENAI_BASE_URL's.")
]
DEFAULT_DB = Path("claims.duckdb")


def reporting_errors(command: Callable[P, int | None]) -> Callable[P, None]:
    """Make a command exit with the code it returns, and with 2 and one line for an error that a person can mend."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
            sys.stdout.flush()
        except (ClaimbaseError, SchemaError, PromptError, StoreError) as e:
            say(f"claimbase: {e}")
            code = MISTAKE
        except KeyboardInterrupt:
            say("claimbase: interrupted")
            code = INTERRUPTED
        except BrokenPipeError:  # the reader of our output has had enough, as `| head` does
            _drop_output()
            code = 0
        except OSError as e:  # a full disk behind `> FILE`, say
            _drop_output()
            say(f"claimbase: {e.filename or 'standard output'}: {e.strerror or e}")
            code = MISTAKE
        raise typer.Exit(code or 0)

    return wrapped


def _drop_output() -> None:
    """Send what is still to be written to nowhere: Python would fail over it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(line: str) -> None:
    """Write a line for a person to standard error, without anything that moves a terminal's cursor."""
    print(visible(line), file=sys.stderr, flush=True)
