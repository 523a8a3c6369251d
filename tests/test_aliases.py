import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import aliases
from store.aliases import Alias, AliasRefused
from store.db import Store
from store.naming import fold
from store.proposals import Proposal, proposals
from store.session import reading
from tests.conftest import Command
from tests.field_samples import Number, Paper, database
from tests.store_samples import rows

PTB = (
    Paper("one", "We parse the Penn Treebank.", "Alpha", ["Penn Treebank"]),
    Paper("two", "We parse PTB.", "Beta", ["PTB"], ["Alpha"]),
    Paper("three", "We parse the Penn Treebank (PTB).", "Gamma", ["Penn Treebank"], ["Beta"]),
)


def forms(store: Store, view: str = "datasets") -> list[object]:
    return [form for (form,) in rows(store.path, f"SELECT canonical FROM {view} ORDER BY record_id, ordinal")]


def test_an_alias_wins_over_folding_and_over_what_an_abstract_says(tmp_path: Path) -> None:
    store = database(tmp_path, PTB)
    assert forms(store) == ["penntreebank", "ptb", "ptb"]
    assert store.keep_aliases([Alias("PTB", "Penn Treebank")]) == 3
    assert forms(store) == ["Penn Treebank"] * 3
    assert rows(store.path, "SELECT canonical('the ptb corpus'), canonical('Penn-treebank')") == [
        ("Penn Treebank",) * 2
    ]
    store.keep_aliases([Alias("alpha", "Beta")])
    assert forms(store, "baselines") == ["Beta", "Beta"]
    assert rows(store.path, "SELECT method_canonical FROM papers ORDER BY record_id") == [
        ("Beta",),
        ("gamma",),
        ("Beta",),
    ]


def test_an_alias_holds_for_what_comes_later_and_once_all_is_made_anew(tmp_path: Path) -> None:
    store = database(tmp_path, PTB[:1])
    store.keep_aliases([Alias("PTB", "Penn Treebank")])
    store.save("run1", [PTB[1].record], [PTB[1].outcome()])
    assert forms(store) == ["Penn Treebank"] * 2
    store.rebuild()
    assert forms(store) == ["Penn Treebank"] * 2


def test_an_alias_reaches_names_whose_key_has_signs_or_whose_canonical_form_is_another(tmp_path: Path) -> None:
    papers = [
        Paper(
            "one", "We ask GPT-3.5 and 64 × 64 ImageNet.", None, ["GPT-3.5", "64 × 64 ImageNet", 'the A "B" studies']
        ),
        Paper("two", "The Penn Treebank (PTB) again.", None, ["Penn Treebank"]),
    ]
    store = database(tmp_path, papers)
    ways = ["gpt3.5", "64x64 ImageNet".replace("x", "×"), 'a "b" study', "Penn treebank"]
    store.keep_aliases([Alias(way, f'form "{n}"') for n, way in enumerate(ways)])
    assert forms(store) == [f'form "{n}"' for n in range(4)]
    store.keep_aliases([Alias('form "3"', "four")])
    assert forms(store)[-1] == "four"
    store.drop_aliases(['form "3"', "Penn Treebank", *ways[:3]])
    assert forms(store) == ["gpt3.5", "64-64imagenet", "bstudy", "ptb"]


def test_a_dropped_alias_leaves_nothing(tmp_path: Path) -> None:
    store = database(tmp_path, PTB)
    store.keep_aliases([Alias("PTB", "Penn Treebank")])
    store.drop_aliases(["ptb"])
    assert forms(store) == ["penntreebank", "ptb", "ptb"]
    assert rows(store.path, "FROM aliases") == []
    with pytest.raises(AliasRefused, match=r"'ptb' has no alias; `claimbase alias list`"):
        store.drop_aliases(["ptb"])


def joined(*pairs: tuple[str, str]) -> dict[str, str]:
    kept: dict[str, Alias] = {}
    for name, form in pairs:
        aliases._join(kept, name, form)
    return {alias.name: alias.canonical for alias in kept.values()}


def test_groups_are_joined_and_renamed() -> None:
    groups = [("a1", "A"), ("a2", "A"), ("b1", "B")]
    assert joined(*groups) == {"a1": "A", "a2": "A", "A": "A", "b1": "B", "B": "B"}
    assert set(joined(*groups, ("A", "B")).values()) == {"B"}
    assert joined(*groups, ("A", "B"), ("c1", "a1"))["c1"] == "B"  # a1 is called B by then
    assert joined(*groups, ("b1", "b"))["b"] == "b"  # the form as it is to be written now
    assert set(joined(("b1", "B"), ("b1", "b")).values()) == {"b"}
    assert joined(*groups, ("a1", "Z")) == {"a1": "Z", "Z": "Z", "a2": "A", "A": "A", "b1": "B", "B": "B"}


@settings(deadline=None, max_examples=40)
@given(pairs=st.lists(st.tuples(*[st.sampled_from("PQRSTUVW")] * 2), max_size=12))
def test_no_order_of_aliases_goes_round_in_a_circle(pairs: list[tuple[str, str]]) -> None:
    kept: dict[str, Alias] = {}
    for name, form in pairs:
        aliases._join(kept, name, form)
        assert kept[fold(name)].canonical == kept[fold(form)].canonical
    for alias in kept.values():
        assert kept[fold(alias.canonical)].canonical == alias.canonical


@pytest.mark.parametrize("alias", [Alias("", "A"), Alias("A", "  ")])
def test_an_empty_name_is_refused_with_nothing_kept(tmp_path: Path, alias: Alias) -> None:
    store = database(tmp_path, ())
    with pytest.raises(AliasRefused, match="empty name"):
        store.keep_aliases([Alias("B", "C"), alias])
    assert store.aliases() == []


# --- CSV


def test_a_csv_comes_back_as_it_was(tmp_path: Path) -> None:
    known = [Alias('a "b", c', "D"), Alias("e\nf", "ü")]
    text = io.StringIO()
    aliases.write_csv(known, text)
    (tmp_path / "a.csv").write_text("\ufeff" + text.getvalue(), encoding="utf-8", newline="")
    assert aliases.read_csv(tmp_path / "a.csv") == known


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b\n1,2\n", "no columns name and canonical"),
        ("", "no columns"),
        ("name,canonical\nPTB,\n", "line 2: an empty name"),
        ("name,canonical\nPTB\n", "line 2: an empty name"),
        (b"name,canonical\n\xff,a\n", "can't be read as CSV"),
    ],
)
def test_a_csv_out_of_form_is_refused_with_its_line(tmp_path: Path, text: str | bytes, why: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(AliasRefused, match=why) as caught:
        aliases.read_csv(path)
    assert str(path) in str(caught.value)


# --- proposals


def test_near_matches_are_proposed_and_not_merged(tmp_path: Path) -> None:
    papers = [
        *PTB,
        Paper("four", "One.", "Perceiverance", ["WikiTableQuestions"], numbers=[Number("5%", 5, metric="reciprocity")]),
        Paper("five", "Two.", "Perceiverence", ["WikiTablesQuestions", "CIFAR-10", "CIFAR-100", "BERT", "BART"]),
        Paper("six", "Three.", "Deep Forest Machine Engine", numbers=[Number("5%", 5, metric="reciprocityy")]),
        Paper("seven", "Four.", "DFME"),
    ]
    store = database(tmp_path, papers)
    with reading(store.path) as con:
        found = proposals(con)
    assert Proposal("Penn Treebank", "PTB", 1, 2, 100.0, "an abstract says so") in found
    pairs = {frozenset((p.name, p.canonical)) for p in found}
    assert pairs == {
        frozenset(("Penn Treebank", "PTB")),
        frozenset(("DFME", "Deep Forest Machine Engine")),
        frozenset(("WikiTableQuestions", "WikiTablesQuestions")),
        frozenset(("Perceiverance", "Perceiverence")),
        frozenset(("reciprocity", "reciprocityy")),
    }
    assert {"penntreebank", "ptb", "wikitablequestion", "wikitablesquestion"} <= set(forms(store))
    assert [p.likeness for p in found] == sorted((p.likeness for p in found), reverse=True)


# --- the command


def test_the_command_adds_lists_exports_imports_and_removes(tmp_path: Path, claimbase: Command) -> None:
    db = database(tmp_path, PTB).path
    assert "alias add NAME FORM" in claimbase("alias", "list", "--db", db).err
    said = claimbase("alias", "add", "PTB", "Penn Treebank", "--db", db)
    assert (said.code, said.out, said.err) == (0, "", "names of 3 records read again\n")
    assert claimbase("alias", "list", "--db", db).out == "PTB -> Penn Treebank\n"
    assert json.loads(claimbase("alias", "list", "--json", "--db", db).out) == [
        {"name": "PTB", "canonical": "Penn Treebank"}
    ]
    file = tmp_path / "aliases.csv"
    assert claimbase("alias", "export", "--to", file, "--db", db).code == 0
    assert file.read_text(encoding="utf-8") == "name,canonical\nPTB,Penn Treebank\n"
    again = claimbase("alias", "export", "--to", file, "--db", db)
    assert again.code == 2 and "--force" in again.err
    assert claimbase("alias", "export", "--db", db).out == "name,canonical\nPTB,Penn Treebank\n"
    assert claimbase("alias", "remove", "PTB", "--db", db).code == 0
    taken = claimbase("alias", "import", file, "--db", db)
    assert (taken.code, taken.err) == (0, "1 alias taken in\nnames of 3 records read again\n")
    refused = claimbase("alias", "remove", "nothing", "--db", db)
    assert refused.code == 2 and refused.err.count("\n") == 1


def test_what_is_proposed_can_be_imported(tmp_path: Path, claimbase: Command) -> None:
    db = database(tmp_path, PTB).path
    said = claimbase("alias", "propose", "--db", db)
    assert said.err == "1 pairs of names to look at\n"
    [row] = csv.DictReader(io.StringIO(said.out))
    assert (row["name"], row["canonical"], row["why"]) == ("Penn Treebank", "PTB", "an abstract says so")
    [same] = json.loads(claimbase("alias", "propose", "--json", "--db", db).out)
    assert (same["name"], same["records"], same["canonical_records"]) == ("Penn Treebank", 1, 2)
    (tmp_path / "a.csv").write_text(said.out, encoding="utf-8")
    assert claimbase("alias", "import", tmp_path / "a.csv", "--db", db).code == 0
    assert rows(db, "SELECT DISTINCT canonical FROM datasets") == [("PTB",)]
    assert claimbase("alias", "propose", "--db", db).err == "0 pairs of names to look at\n"


def test_a_database_without_claims_takes_aliases_too(tmp_path: Path) -> None:
    store = database(tmp_path, ())
    assert store.keep_aliases([Alias("a", "b")]) == 0
    assert store.aliases() == [Alias("a", "b")]


SPIN = (
    Paper("one", "We present SPIN (Stone Polishing in Nature).", "SPIN"),
    Paper("two", "SPIN, Stone Polishing in Nature (SPIN), again.", "SPIN"),
    Paper("three", r"We propose SpIn, \textbf{Sp}arse \textbf{In}verse (SpIn).", "SpIn"),
    Paper("four", "We use SPIN.", None, [], ["SPIN"]),
)


def test_an_acronym_of_two_things_is_listed_and_parted_by_its_long_form(tmp_path: Path) -> None:
    store = database(tmp_path, SPIN)
    with reading(store.path) as con:
        found = [one for one in proposals(con) if one.why == "one acronym, two things"]
    assert [(one.name, one.canonical) for one in found] == [("Sparse Inverse", "SpIn (Sparse Inverse)")]
    assert store.keep_aliases([Alias(found[0].name, found[0].canonical)]) == 1
    methods = rows(store.path, "SELECT method_canonical FROM papers WHERE method IS NOT NULL ORDER BY record_id")
    assert sorted(form for (form,) in methods) == ["SpIn (Sparse Inverse)", "spin", "spin"]  # type: ignore[type-var]
    assert forms(store, "baselines") == ["spin"]
    store.rebuild()
    assert rows(store.path, "SELECT count(*) FROM papers WHERE method_canonical = 'SpIn (Sparse Inverse)'") == [(1,)]


def test_two_names_that_are_two_things_are_proposed_no_more(tmp_path: Path, claimbase: Command) -> None:
    store = database(tmp_path, PTB[:2])
    db = ("--db", store.path)
    spelled = Paper("five", "We parse the Penn Treebanc.", None, ["Penn Treebanc"])
    store.save("run1", [spelled.record], [spelled.outcome()])
    proposed = claimbase("alias", "propose", *db)
    assert "Penn Treebanc,Penn Treebank" in proposed.out or "Penn Treebank,Penn Treebanc" in proposed.out
    assert claimbase("alias", "apart", "penn treebanc", "the Penn Treebank", *db).code == 0
    assert "Treebanc" not in claimbase("alias", "propose", *db).out
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("name,canonical\nPTB,Penn Treebank\n", encoding="utf-8")
    assert claimbase("alias", "import", wrong, "--apart", *db).code == 0
    assert claimbase("alias", "propose", "--json", *db).out.strip() == "[]"
    refused = claimbase("alias", "apart", "PTB", "ptb", *db)
    assert refused.code == 2 and "are one" in refused.err
