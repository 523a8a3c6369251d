"""Who reviews in this browser, and which schema's claims: what all pages of the review need to know first.

A reviewer is a name that a person gives; it is kept in a cookie of the browser and stands in each row that they add.
It guards nothing: whoever may use the server may give any name.
"""

import re
from urllib.parse import quote, unquote

import duckdb
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from store import reviewing
from store.errors import StoreError
from store.reviewed import Subject

LONGEST_NAME = 60
DEFAULT_SCHEMA = "paper"

_COOKIE = "claimbase-reviewer"
_YEAR_S = 365 * 86_400


def reviewer_of(request: Request) -> str:
    """The reviewer's name; empty if none was given yet."""
    return named(unquote(request.cookies.get(_COOKIE, "")))


def named(written: str) -> str:
    """A name as it is kept: on one line, not too long."""
    return re.sub(r"[\s,;\x00-\x1f\x7f]+", " ", written).strip()[:LONGEST_NAME]


def remember(response: Response, reviewer: str) -> Response:
    """The response, with the cookie that holds the name."""
    response.set_cookie(_COOKIE, quote(reviewer), max_age=_YEAR_S, httponly=True, samesite="strict")
    return response


def subject_asked(con: duckdb.DuckDBPyConnection, request: Request) -> Subject:
    """The schema that the address names, else the shipped one, else that of the latest run. 404 if it isn't here."""
    names = reviewing.schema_names(con)
    wanted = request.query_params.get("schema", "")
    if not wanted and names:
        wanted = DEFAULT_SCHEMA if DEFAULT_SCHEMA in names else names[0]
    try:
        return reviewing.subject_of(con, wanted)
    except StoreError as e:
        raise HTTPException(404, str(e) if wanted else "there are no claims yet; `claimbase run` makes some") from e
