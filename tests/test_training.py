"""Training: what is learned from, how a run of it goes on, and that what comes out answers as any model does."""

import itertools
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.certainty import Certainty, confidence
from extract.errors import InputError, SettingsError
from extract.local import assembled_weights
from extract.settings import cache_folder
from extract.training.examples import Example, read_examples, split
from prompts.loader import load_prompt
from schemas.describe import describe
from schemas.registry import load_schema
from tests.conftest import Command

ABSTRACT = "We present Larkspur, a parser for field notes. On NoteBank it is 12.5% better than Finch, over 3 runs."
GOLD = {
    "contribution": "method",
    "task": ["parsing of field notes", "note parsing"],
    "method": ["Larkspur"],
    "datasets": [["NoteBank"]],
    "baselines": [["Finch"]],
    "numbers": [
        {
            "quote": "12.5%", "value": 12.5, "unit": "%", "role": "gain", "direction": "increase", "qualifier": "exact",
            "metric": None, "dataset": "NoteBank", "baseline": "Finch",
        }
    ],
}  # fmt: skip


def gold_file(path: Path, *abstracts: str) -> Path:
    rows = [{"id": f"g{n}", "abstract": text, "gold": GOLD} for n, text in enumerate(abstracts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def examples(path: Path) -> list[Example]:
    schema = load_schema("paper")
    return read_examples([path], schema, load_prompt("trained", describe(schema.fields)))


def test_an_example_is_the_prompt_as_it_is_asked_and_the_reply_without_what_code_computes(tmp_path: Path) -> None:
    [example] = examples(gold_file(tmp_path / "gold.jsonl", ABSTRACT, ABSTRACT))
    assert example.prompts == (f"Title: \nAbstract: {ABSTRACT}\nNumbers: 12.5% | 3\nClaims: ",)
    assert example.reply == (
        '{"contribution":"method","task":"parsing of field notes","method":"Larkspur","datasets":["NoteBank"],'
        '"baselines":["Finch"],"headline_numbers":[{"quote":"12.5%","unit":"%","role":"gain","direction":"increase",'
        '"metric":null,"dataset":"NoteBank","baseline":"Finch"}]}'
    )


def test_a_title_is_learned_with_and_without(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps({"id": "a", "title": "Field  notes", "abstract": ABSTRACT, "gold": GOLD}), "utf-8")
    [example] = examples(path)
    assert [prompt.partition("\n")[0] for prompt in example.prompts] == ["Title: Field notes", "Title: "]


def test_another_hands_gold_says_so_and_is_never_held_out(tmp_path: Path) -> None:
    schema = load_schema("paper")
    own = gold_file(tmp_path / "own.jsonl", ABSTRACT, f"{ABSTRACT} One.")
    other = gold_file(tmp_path / "other.jsonl", ABSTRACT, f"{ABSTRACT} Two.", f"{ABSTRACT} Three.")
    every = read_examples([own], schema, load_prompt("trained", describe(schema.fields)), [other])
    assert [example.own for example in every] == [True, True, False, False], "an abstract of both is one's own"
    assert [example.prompts[0].startswith("By another hand.\nTitle: ") for example in every] == [
        not example.own for example in every
    ]
    parts = split(every, 0.5, seed=0)
    assert len(parts.held_out) == 1 and parts.held_out[0].own and len(parts.train) == 3


def test_a_schema_of_ones_own_is_learned_by_its_keys(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from pydantic import BaseModel, Field, computed_field\nfrom schemas.base import Quote\n"
        "class Part(BaseModel):\n    name: Quote\n    size: int | None = None\n"
        "class Note(BaseModel):\n    subject: Quote = Field(alias='about')\n    parts: list[Part]\n"
        "    @computed_field\n    @property\n    def count(self) -> int:\n        return len(self.parts)\n",
        encoding="utf-8",
    )
    schema = load_schema(f"{own}:Note")
    gold = {"about": "Larkspur", "parts": [{"name": "Finch", "size": 3}]}
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps({"id": "a", "abstract": ABSTRACT, "gold": gold}), encoding="utf-8")
    [example] = read_examples([path], schema, load_prompt("trained", describe(schema.fields)))
    assert json.loads(example.reply) == gold


def test_gold_that_is_none_is_told_with_its_line(tmp_path: Path) -> None:
    path = gold_file(tmp_path / "gold.jsonl", ABSTRACT)
    path.write_text(path.read_text(encoding="utf-8") + '{"id": "b"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"gold.jsonl, line 2: not a row of gold"):
        examples(path)
    with pytest.raises(InputError, match="no annotated abstracts"):
        examples(gold_file(tmp_path / "empty.jsonl"))


@given(count=st.integers(1, 60), share=st.floats(0, 0.5), seed=st.integers(0, 5))
def test_what_is_held_out_is_never_learned_from(count: int, share: float, seed: int) -> None:
    every = [Example(str(n), str(n), (str(n),), "{}") for n in range(count)]
    parts = split(every, share, seed)
    assert sorted(e.name for e in (*parts.train, *parts.held_out)) == sorted(e.name for e in every)
    assert parts.train and len(parts.held_out) <= max(0, round(count * share))
    assert parts.digest == split(every, share, seed).digest


def test_a_missing_package_says_what_to_install(claimbase: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    import extract.commands.train as command

    monkeypatch.setattr(command, "_NEEDED", ("torch", "no_such_package"))
    with pytest.raises(SettingsError):  # what the command's decorator makes a line of
        command.train.__wrapped__([Path("gold.jsonl")], Path("to"))  # type: ignore[attr-defined]


class TestWithTorch:
    """What needs the extra `train`."""

    @pytest.fixture(autouse=True)
    def torch(self) -> None:
        pytest.importorskip("torch", reason="the extra `train` isn't installed")

    def test_the_rate_rises_then_falls_along_a_cosine(self) -> None:
        from extract.training.loop import rate_share

        shares = [rate_share(step, 100) for step in range(101)]
        assert shares[0] < shares[5] < shares[14] and max(shares) <= 1.0
        assert all(a >= b for a, b in itertools.pairwise(shares[15:]))
        assert shares[-1] == pytest.approx(0.05)

    def test_batches_are_a_seeds_and_hold_each_example_once(self) -> None:
        from extract.training.loop import batches
        from extract.training.lora import Tokens

        every = [Tokens([1] * n, [2]) for n in range(1, 22)]
        made = list(batches(every, 8, seed=3))
        assert [len(batch) for batch in made] == [8, 8, 5]
        assert sorted(len(t) for batch in made for t in batch) == [len(t) for t in every]
        assert made == list(batches(every, 8, seed=3)) != list(batches(every, 8, seed=4))

    def test_each_way_to_ask_has_its_turn(self) -> None:
        from extract.training.loop import in_turn
        from extract.training.lora import Tokens

        titled, untitled, only = Tokens([1, 2], [9]), Tokens([2], [9]), Tokens([3], [9])
        every = [(titled, untitled), (only,), (titled, untitled), (titled, untitled)]
        assert in_turn(every, 0) == [titled, only, titled, untitled]
        assert in_turn(every, 1) == [untitled, only, untitled, titled]

    def test_a_calibration_gives_back_the_shares_that_it_was_fitted_to(self) -> None:
        from extract.training.calibrating import Judged, calibrate

        unsure, sure = Certainty(-2.0, -1.5), Certainty(-0.1, -0.05)
        judged = [Judged("datasets", unsure, n % 10 < 3) for n in range(200)]
        judged += [Judged("datasets", sure, n % 10 < 9) for n in range(200)]
        judged += [Judged("rare", sure, n > 0) for n in range(5)]
        found = calibrate(judged)
        assert set(found) == {"datasets", "*"}
        for certainty, share in ((unsure, 0.3), (sure, 0.9)):
            said = confidence(certainty, "datasets", found)
            assert said is not None and math.isclose(said, share, abs_tol=0.02)


@pytest.mark.local_model
@pytest.mark.filterwarnings("ignore::FutureWarning")  # of transformers about peft's use of it
def test_filling_a_text_up_leaves_its_loss_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the extra `train` isn't installed")
    import extract.training.lora as lora

    weights = assembled_weights(cache_folder())
    tokens = lora.Tokenizer(weights).tokens(f"Abstract: {ABSTRACT}\nClaims: ", '{"task":"parsing"}')
    assert len(tokens) % 32 and len(tokens.reply) % 32
    model = lora.AdaptedModel(weights, 4, {*tokens.prompt, *tokens.reply}, "cpu", seed=0)
    filled = model.loss(tokens)
    monkeypatch.setattr(lora, "_STEP", 1)
    bare = model.loss(tokens)
    assert (filled.tokens, filled.right) == (bare.tokens, bare.right) == (len(tokens.reply), bare.right)
    assert filled.total.item() == pytest.approx(bare.total.item(), rel=0.01)


def test_an_average_held_to_a_rank_is_the_nearest_of_that_rank(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the extra `train` isn't installed")
    from extract.training.adapter import read_numbers, write_numbers
    from extract.training.averaging import average

    torch.manual_seed(0)
    a, b = "blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"
    ones = {a: torch.randn(4, 64), b: torch.randn(32, 4)}
    others = {a: ones[a] + 0.01 * torch.randn(4, 64), b: ones[b] + 0.01 * torch.randn(32, 4)}
    paths = [(tmp_path / "one.gguf", 0.3), (tmp_path / "other.gguf", 0.7)]
    write_numbers(paths[0][0], ones, 4)
    write_numbers(paths[1][0], others, 4)
    expected = 0.3 * ones[b] @ ones[a] + 0.7 * others[b] @ others[a]
    for rank, made, off in ((None, 8, 1e-3), (4, 4, 2e-2)):
        assert average(paths, tmp_path / "sum.gguf", rank) == made
        numbers = read_numbers(tmp_path / "sum.gguf")
        assert numbers[a].shape == (made, 64) and numbers[b].shape == (32, made)
        change = torch.from_numpy(numbers[b] @ numbers[a])
        assert ((change - expected).norm() / expected.norm()).item() < off


def end_after_an_epoch(command: Sequence[object], to: Path) -> None:
    """Start a training, kill its first process with SIGKILL once an epoch is kept, and see the others end."""
    with subprocess.Popen(
        [sys.executable, "-m", "extract.cli", *map(str, command)], stderr=subprocess.DEVNULL
    ) as first:
        until(lambda: (to / "checkpoint.pt").is_file() or first.poll() is not None, 300)
        others = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text(encoding="ascii").split()
        first.kill()
    assert others or os.cpu_count() == 1
    until(lambda: not any(Path(f"/proc/{pid}/cmdline").is_file() for pid in others), 60)


def until(holds: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"not within {seconds:g} s"
        time.sleep(0.05)


@pytest.mark.local_model
def test_a_trained_adapter_answers_by_its_schema_and_goes_on_where_it_was_ended(
    claimbase: Command, tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="the extra `train` isn't installed")
    gold = gold_file(tmp_path / "gold.jsonl", *(f"{ABSTRACT} This is note {n}." for n in range(1, 9)))
    to = tmp_path / "adapter"
    command = ("train", gold, "--to", to, "--epochs", "2", "--rank", "4", "--held-out", "0.25")
    end_after_an_epoch(command, to)
    done = claimbase(*command)
    assert done.code == 0, done.err
    assert "epoch 2 of 2: loss" in done.err and "epoch 1 of 2" not in done.err, "goes on with the second epoch"
    assert "| whole abstracts |" in done.out and f"local:{to}" in done.err
    card = json.loads((to / "card.json").read_text(encoding="utf-8"))
    assert card["data"] == {"files": [["gold.jsonl", 8]], "train": 6, "held_out": 2, "too_long": 0}
    assert len(card["epochs"]) == 2 and card["epochs"][1]["loss"] < card["epochs"][0]["loss"]
    made = (to / "adapter.gguf").read_bytes()
    again = claimbase(*command)  # all is there: it only measures again
    assert again.code == 0 and (to / "adapter.gguf").read_bytes() == made
    other = claimbase(
        "train", gold_file(tmp_path / "other.jsonl", ABSTRACT), "--to", to, "--epochs", "2", "--rank", "4"
    )
    assert other.code == 2 and "is of other data or settings" in other.err
    db = tmp_path / "claims.duckdb"
    text = tmp_path / "note.txt"
    text.write_text(ABSTRACT, encoding="utf-8")
    assert claimbase("run", text, "--db", db, "--model", f"local:{to}").code == 0
    # Of a model that has learned next to nothing the tokens may be no text; the shipped one's are (test_seeds_local).
    [row] = json.loads(
        claimbase("sql", "SELECT model, record_confidence FROM papers", "--db", db, "--format", "json").out
    )
    assert row["model"] == f"local:{to}" and 0.0 <= (row["record_confidence"] or 0.0) <= 1.0


@pytest.mark.local_model
def test_a_folder_without_an_adapter_and_another_schema_are_told(claimbase: Command, tmp_path: Path) -> None:
    text = tmp_path / "note.txt"
    text.write_text(ABSTRACT, encoding="utf-8")
    said = claimbase("run", text, "--db", tmp_path / "a.duckdb", "--model", f"local:{tmp_path}")
    assert said.code == 2 and "holds no adapter" in said.err
    (tmp_path / "adapter.gguf").write_bytes(b"GGUF")
    card = {"schema": "trial", "schema_hash": "s1-other", "prompt_version": 1, "calibration": {}}
    (tmp_path / "card.json").write_text(json.dumps(card), encoding="utf-8")
    said = claimbase("run", text, "--db", tmp_path / "a.duckdb", "--model", f"local:{tmp_path}")
    assert said.code == 2 and "was trained on schema 'trial' (s1-other), which 'paper' (s1-" in said.err
