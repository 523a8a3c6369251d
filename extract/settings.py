"""The settings of a run: frozen dataclasses, passed as arguments; and the one place that reads the environment."""

import os
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from extract.errors import SettingsError

LOCAL = "local"
"""The name of the embedded model."""

OPENAI_URL = "https://api.openai.com/v1"
_CALM_RAY = {
    "RAY_kill_child_processes_on_worker_exit": "0",  # it would be those of the program that calls us
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_raylet_start_wait_time_s": "120",  # a busy machine needs more than the usual 30
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_DATA_LOG_LEVEL": "ERROR",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_worker_niceness": "0"}
"""The first makes Ray on any system take the address of loopback for its node's, so called. By the second the workers
have the driver's own priority: Ray gives them a low one, by which a busy machine would leave them next to nothing."""
Mode = Literal["json_schema", "tools", "json", "md_json"]
MODES: tuple[Mode, ...] = ("json_schema", "tools", "json", "md_json")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint: one server, or several alike. The key is never shown, stored or logged."""

    base_urls: tuple[str, ...]
    api_key: str = field(repr=False)

    @property
    def shown(self) -> str:
        """The addresses as they may be shown and stored: without a user, a password or a query."""
        return ",".join(_without_secrets(url) for url in self.base_urls)


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked: all that, with schema and prompt, makes its answer what it is."""

    model: str
    mode: Mode = "json_schema"
    temperature: float | None = 0.0
    reply_tokens: int = 4096
    bounded: bool = False
    """Put bounds on each list and string of the sent schema: for small models, which loop; others may refuse them."""
    reasks: int = 2
    adapter: str = ""
    """Of the embedded model: the digest of the adapter on it."""
    trained_on: str = ""
    """The hash of the schema that the adapter was trained on."""
    trained_prompt: int = 0
    """The version of the prompt that it was trained on."""
    logprobs: bool = False
    """Ask how likely each token of a reply was: what the claims' confidence is computed from."""
    calibration: tuple[tuple[str, tuple[float, float, float]], ...] = ()
    """What makes a confidence of that (`certainty.Calibration`), where it is known for the model."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a run puts up with an endpoint's faults. Times in seconds."""

    tries: int = 6
    """Calls for one reply that may meet a transient fault; 429 isn't counted."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    timeout_s: float = 180.0
    """For one call, from sending to the last byte."""
    starved_s: float = 900.0
    """A run whose every call is refused with 429 for so long is stopped."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use. `rpm`, `tpm`: calls and tokens a minute; the rest is for the whole run."""

    concurrency: int = 8
    rpm: float | None = None
    tpm: float | None = None
    max_cost: float | None = None
    max_tokens: int | None = None


def openai_endpoint(base_url: str | None, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the endpoint of `base_url`, else of OPENAI_BASE_URL, else OpenAI's, with OPENAI_API_KEY.

    Several servers alike are divided by commas. A server on this machine needs no key. Raises SettingsError for an
    address that is none, or a missing key.
    """
    given = base_url or environ.get("OPENAI_BASE_URL") or OPENAI_URL
    urls = tuple(url.strip().rstrip("/") for url in given.split(","))
    key = environ.get("OPENAI_API_KEY", "").strip()
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not _has_a_port(parts):
            raise SettingsError(f"--base-url {url!r} is no address; expected for instance http://127.0.0.1:8000/v1")
        if not key and not _is_loopback(parts.hostname):
            raise SettingsError(
                f"no API key for {parts.hostname}; set OPENAI_API_KEY, or use --model {LOCAL}, which needs none"
            )
    return Endpoint(urls, key or "none")


def is_local(model: str) -> bool:
    """Is it the embedded model, with the shipped adapter ("local") or one of a folder ("local:FOLDER")?"""
    return model == LOCAL or model.startswith(f"{LOCAL}:")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the user's cache folder for claimbase: CLAIMBASE_CACHE, else under XDG_CACHE_HOME, else ~/.cache."""
    if own := environ.get("CLAIMBASE_CACHE"):
        return Path(own)
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claimbase"


def _has_a_port(parts: SplitResult) -> bool:
    """Is its port a number, or none at all?"""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False


def _without_secrets(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, f"[{host}]{port}" if ":" in host else f"{host}{port}", parts.path, "", ""))


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or re.fullmatch(r"127(\.\d+){3}", host) is not None


def calm_ray(*, alone: bool, environ: MutableMapping[str, str] = os.environ) -> None:
    """Keep Ray from reporting its use, drawing bars, taking the working folder along and ending the caller's children.

    `alone`: it will be on this machine only, and then listens on loopback. To be called before Ray is imported; what is
    set already stays as it is.
    """
    for name, value in {**_CALM_RAY, **(_ALONE if alone else {})}.items():
        environ.setdefault(name, value)
