"""Loads a prompt file and turns it, with an abstract, into chat messages.

A file is Markdown in sections: `# system` (rules; `{{fields}}` stands for the schema's), any number of `# example`
(an abstract) each followed by `# reply` (its JSON), and last `# user`, in which `{{abstract}}` stands for the abstract,
`{{title}}` for its title if it has one, and `{{numbers}}` for the numbers that code finds in it. All that is the same
for every record comes first and the abstract last, so that a provider's prompt cache, or a local server's, holds the
static part. Nothing is a template but these markers, each replaced once: braces, backslashes and back-ticks of an
abstract go through as they are. A released file is never edited; a change is a new version.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FIELDS, ABSTRACT, TITLE, NUMBERS = "{{fields}}", "{{abstract}}", "{{title}}", "{{numbers}}"
_FOLDER = Path(__file__).parent
_FILE_NAME = re.compile(r"(?P<name>.+)\.v(?P<version>\d+)\.md")
_SECTION = re.compile(r"^# (system|example|reply|user)\n", re.MULTILINE)
_MARKERS = re.compile("|".join(map(re.escape, (ABSTRACT, TITLE, NUMBERS))))
_TAG = "abstract"


class PromptError(ValueError):
    """A prompt that can't be used, in one line that says what, where and the way out."""


@dataclass(frozen=True, slots=True)
class Example:
    """An abstract of our own writing with the reply that is right for it."""

    abstract: str
    reply: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt with its schema's fields filled in. `hash` is that of `text`: all of it but what is a record's."""

    name: str
    version: int
    system: str
    examples: tuple[Example, ...]
    user: str

    @property
    def text(self) -> str:
        """All that is sent besides what is a record's, as JSON of the messages with the markers in them."""
        return json.dumps([*self._static(), {"role": "user", "content": self.user}], ensure_ascii=False)

    @property
    def hash(self) -> str:
        """A hash of `text`, with the recipe's version before it."""
        return f"p1-{hashlib.sha256(self.text.encode()).hexdigest()[:20]}"

    @property
    def lists_numbers(self) -> bool:
        """Does it say which numbers code finds in the abstract?"""
        return NUMBERS in self.user

    def messages(self, abstract: str, title: str | None = None, numbers: Sequence[str] = ()) -> list[dict[str, str]]:
        """Return the messages of a first call for `abstract`: the static part, then the abstract."""
        return [*self._static(), {"role": "user", "content": self.about(abstract, title, numbers)}]

    def _static(self) -> list[dict[str, str]]:
        static = [{"role": "system", "content": self.system}] if self.system else []
        for example in self.examples:
            static.append({"role": "user", "content": self.about(example.abstract)})
            static.append({"role": "assistant", "content": example.reply})
        return static

    def about(self, abstract: str, title: str | None = None, numbers: Sequence[str] = ()) -> str:
        """Return the last message, with what is a record's in its place.

        The abstract's tag is numbered if the record itself holds that tag.
        """
        said = {ABSTRACT: abstract, TITLE: " ".join((title or "").split()), NUMBERS: " | ".join(numbers)}
        user, tag, n = self.user, _TAG, 1
        while any(f"<{tag}" in text or f"</{tag}" in text for text in said.values()):
            tag, n = f"{_TAG}-{n}", n + 1
        if tag != _TAG:
            user = user.replace(f"<{_TAG}>", f"<{tag}>").replace(f"</{_TAG}>", f"</{tag}>")
        return _MARKERS.sub(lambda marker: said[marker[0]], user)


def shipped() -> dict[str, int]:
    """Return the names of the shipped prompts with their newest versions."""
    newest: dict[str, int] = {}
    for path in sorted(_FOLDER.glob("*.md")):
        if match := _FILE_NAME.fullmatch(path.name):
            newest[match["name"]] = max(int(match["version"]), newest.get(match["name"], 0))
    return newest


def load_prompt(name: str, fields: str, version: int | None = None) -> Prompt:
    """Load the shipped prompt `name` (the newest version unless told) or the file of that path.

    `fields` replaces `{{fields}}`. Raises PromptError for a name or file that isn't there and for one out of form.
    """
    newest = shipped()
    if name in newest:
        version = version or newest[name]
        return parse_prompt(name, version, (_FOLDER / f"{name}.v{version}.md").read_text(encoding="utf-8"), fields)
    path = Path(name)
    if not path.is_file():
        raise PromptError(f"unknown prompt {name!r}; shipped: {', '.join(sorted(newest))}; your own: path/to/file.md")
    match = _FILE_NAME.fullmatch(path.name)
    own = (match["name"], int(match["version"])) if match else (path.stem, 0)
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise PromptError(f"prompt {name!r} can't be read: {e}; save it as UTF-8 text") from e
    return parse_prompt(*own, source, fields)


def parse_prompt(name: str, version: int, source: str, fields: str) -> Prompt:
    """Read a prompt file's sections. Raises PromptError saying which section is missing, doubled or out of place."""
    sections = list(_sections(source))
    kinds = [kind for kind, _ in sections]
    middle = kinds[1:-1] if kinds[:1] == ["system"] else kinds[:-1]
    if kinds[-1:] != ["user"] or middle != ["example", "reply"] * (len(middle) // 2):
        raise PromptError(
            f"prompt {name!r} has the sections {kinds}; expected '# system' (or none), pairs of '# example' and "
            "'# reply', and '# user' last"
        )
    texts = [text for _, text in sections]
    user = texts[-1]
    for marker, allowed, expected in (
        (ABSTRACT, (1,), "once"),
        (TITLE, (0, 1), "at most once"),
        (NUMBERS, (0, 1), "at most once"),
    ):
        if user.count(marker) not in allowed:
            raise PromptError(
                f"prompt {name!r}: '# user' holds {marker} {user.count(marker)} times; expected {expected}"
            )
    if NUMBERS in user and middle:
        raise PromptError(
            f"prompt {name!r}: {NUMBERS} can't stand beside an '# example', whose numbers aren't listed; leave one out"
        )
    system = texts[0].replace(FIELDS, fields, 1) if kinds[0] == "system" else ""
    pairs = texts[len(texts) - 1 - len(middle) : -1]
    examples = tuple(Example(a, r) for a, r in zip(pairs[::2], pairs[1::2], strict=True))
    return Prompt(name, version, system, examples, user)


def _sections(source: str) -> Iterator[tuple[str, str]]:
    heads = list(_SECTION.finditer(source))
    ends = [*(head.start() for head in heads[1:]), len(source)]
    for head, end in zip(heads, ends, strict=False):  # without a heading there is an end too many
        yield head[1], source[head.end() : end].strip("\n")
