import json
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import names as bench_names
from store.acronyms import definitions, letters_of, looks_short, spells
from store.canonical import canonical_of, names_in
from store.mentions import canonical_names
from store.naming import fold, fold_sql
from tests.store_samples import PAPER

GOLD = Path(__file__).parents[1] / ".." / "shared" / "gold"


# --- a name by itself


@pytest.mark.parametrize(
    ("key", "ways"),
    [
        (
            "cifar10",
            ["CIFAR-10", "CIFAR10", "cifar 10", "the CIFAR-10 dataset", "Cifar–10 Data Set", "CIFAR-10 datasets"],
        ),
        ("penntreebank", ["Penn Treebank", "Penn TreeBank", "Penn Treebank corpus", "the Penn treebank"]),
        ("lstm", ["LSTM", "LSTMs", "LSTM's", "LSTM’s", "the LSTM model", "standard LSTM", "vanilla LSTMs"]),
        ("routingnetwork", ["routing network", "Routing Networks", "routing-networks"]),
        ("claude2", ["Claude 2", "Claude 2.0", "claude-2"]),
        ("gpt3.5turbo", ["GPT-3.5 Turbo", "gpt-3.5-turbo", "GPT3.5-turbo"]),
        ("a*", ["A*", "$A^*$", "$A^{*}$"]),
        ("a3t", ["A3T", "A$^3$T", r"A$^\mathbf{3}$T"]),
        ("hubert", [r"\textbf{Hu}BERT", "HuBERT", "**Hu**BERT", "Hubert"]),
        ("malmo", ["Malmö", "Malmo", "MALMÖ"]),
        ("pi", [r"$\Pi$-Model", "Π-Model", "Π model"]),
        ("study", ["Study", "Studies"]),
        ("box", ["Box", "Boxes"]),
        ("adam", ["Adam", "the Adam optimizer", "Adam algorithm"]),
        ("64-64tile", ["64 × 64 Tiles", "64x64 tile".replace("x", " "), "64-64 tile"]),
        ("stingy+", ["Stingy+", "stingy +"]),
    ],
)
def test_ways_of_writing_one_name_have_one_key(key: str, ways: list[str]) -> None:
    assert {way: fold(way) for way in ways} == dict.fromkeys(ways, key)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CIFAR-10", "CIFAR-100"),
        ("MNIST", "Fashion-MNIST"),
        ("GPT-3.5", "GPT-35"),
        ("Stingy", "Stingy+"),
        ("C", "C++"),
        ("WMT 14 15", "WMT 1415"),
        ("CRAB", "CRABS"),
        ("diffusion model", "diffusion"),
        ("LongBench", "LongBench v2"),
        ("A-GEM", "GEM"),
        ("corpus", "corpu"),
        ("Atlas", "Atla"),
    ],
)
def test_names_of_two_things_have_two_keys(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize("name", ["dataset", "The", "the model", "standard baseline", "★", "a"])
def test_a_name_of_generic_words_alone_keeps_a_key(name: str) -> None:
    assert fold(name)


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}([ -][A-Za-z0-9.+]{1,6}){0,3}", fullmatch=True)


@settings(deadline=None)
@given(name=NAMES)
def test_white_space_and_hyphens_make_no_difference(name: str) -> None:
    assert fold(f"  {name} ") == fold(name)
    assert fold(name.replace(" ", "  ")) == fold(name)
    # A hyphen holds an article or an adjective to the name: A-GEM is no GEM.
    if not re.match(r"(?i)(the|an?|our|standard|vanilla|existing|plain)[ -]", name):
        assert fold(name.replace(" ", "-")) == fold(name.replace("-", " "))


@settings(deadline=None)
@given(name=st.text(min_size=1, max_size=20))
def test_any_text_has_a_key_without_white_space(name: str) -> None:
    key = fold(name)
    assert bool(key) == bool("".join(name.split()))
    assert key == "".join(key.split())


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@settings(deadline=None, max_examples=60)
@given(
    names=st.lists(NAMES | st.sampled_from(["the MNIST datasets", "BERT models", "Boxes", "v1.2.3", "Émile's study"]))
)
def test_sql_folds_as_python_does(con: duckdb.DuckDBPyConnection, names: list[str]) -> None:
    rows = con.execute(f"SELECT {fold_sql('name')} FROM (SELECT unnest(?::VARCHAR[]) AS name)", [names]).fetchall()
    assert [key for (key,) in rows] == [fold(name) for name in names]


# --- what a text says of its names


def test_a_long_form_has_the_key_of_the_acronym_that_its_text_gives() -> None:
    text = "We parse the Penn Treebank (PTB) with STAR (Stepwise Tree Attention Readout)."
    assert canonical_names(["Penn Treebank", "PTB", "STAR", "Stepwise Tree Attention Readout"], text) == {
        "Penn Treebank": "ptb",
        "PTB": "ptb",
        "STAR": "star",
        "Stepwise Tree Attention Readout": "star",
    }
    assert (
        canonical_names(["Penn Treebank", "PTB"], "The Penn Treebank and the PTB.")["Penn Treebank"] == "penntreebank"
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ALBUM (A Large Book of Untold Matters) is new.", ["ALBUM", "A Large Book of Untold Matters"]),
        ("We use ALBUM.", ["ALBUM", "ALBUM (A Large Book of Untold Matters) benchmark"]),
        ("We use it.", ["Long Table Reader (LTR)", "LTR", "Long Table Reader"]),
        ("The Thai Stone Finder (SF) is old.", ["Thai SF", "Thai Stone Finder"]),
        ("We weigh Cauchy-Swan (CS) distance.", ["CS distance", "Cauchy-Swan (CS) distance"]),
        ("Ours is I3C, for Insight Inside Images of Cats.", ["I3C", "Insight Inside Images of Cats"]),
        ("We name it T2V.", ["T2V", "Text to Vector"]),
        ("We call it iForest.", ["iForest", "Isolation Forest"]),
        ("LEMUR, short for learned methods under restraint, wins.", ["LEMUR", "learned methods under restraint"]),
        ("We look at LSUN.", ["LSUN", "LSUN bedrooms"]),
        ("We play Quarry (MinerBox) and dig.", ["Quarry", "MinerBox"]),
        ("We train a neural lamp field (LF-X) model.", ["neural lamp field", "LF-X"]),
        ("A lamp search algorithm (QRS) is slow.", ["lamp search", "QRS"]),
        ("We propose a lamp-aware network, namely KITE-2, for reading.", ["lamp-aware network", "KITE-2"]),
        ("Lumen-3-Chat, or Lumen (9B) for short, talks.", ["Lumen-3-Chat", "Lumen (9B)"]),
        (
            "We present BO-TEL\u2014better tuning of lamps by eye\u2014and more.",
            ["BO-TEL", "better tuning of lamps by eye"],
        ),
        (
            "BRAND, a reader for the browsing of rare and new documents, wins.",
            ["BRAND", "browsing of rare and new documents"],
        ),
        ("LAMPS (sLow reAding of Many dePicted Stones) wins.", ["LAMPS", "sLow reAding of Many dePicted Stones"]),
        ("We propose *Mixture of Stones* (MoS).", ["Mixture of Stones", "MoS"]),
        ("Stone-aware Night Lamp is new. Stone-NL wins.", ["Stone-aware Night Lamp", "Stone-NL"]),
        ("StoneNets build on Stone Networks.", ["StoneNets", "Stone Networks"]),
        ("Asynchronous Stone Grinding Descent (ASGD) beats asynchronous SGD.", ["ASGD", "asynchronous SGD"]),
        ("On wsRE QA we win.", ["wsRE QA", "wsRE"]),
        ("LAVA-V1.5 is tuned. Gains are large (LAVA).", ["LAVA-V1.5", "LAVA"]),
        ("We ask OpenAI Scribe. Then Scribe answers.", ["OpenAI Scribe", "Scribe"]),
        ("The split-by-page is hard; a page split is not.", ["split-by-page", "page split"]),
        ("Best-of-N (BoN) sampling beats plain BoN.", ["Best-of-N (BoN) sampling", "BoN", "Vanilla BoN sampling"]),
        ("A study of $\\textbf{Hu}$manoid $\\textbf{B}$alance.", ["HuB", "$\\textbf{Hu}$manoid $\\textbf{B}$alance"]),
    ],
)
def test_forms_of_one_name_in_a_text_have_one_key(text: str, names: list[str]) -> None:
    assert len(set(canonical_names(names, text).values())) == 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We use MNIST and Fashion-MNIST (FM).", ["MNIST", "Fashion-MNIST"]),
        ("BERT and BERT large are compared.", ["BERT", "BERT large"]),
        ("GPT-4 with tools beats GPT-4.", ["GPT-4", "GPT-4 with tools"]),
        ("TED bilingual, TED multilingual, TED.", ["TED", "TED bilingual", "TED multilingual"]),
        ("D-PSGD is decentralized parallel SGD (D-PSGD).", ["D-PSGD", "data parallel SGD"]),
        ("RepoEval and RepoST-Eval.", ["RepoEval", "RepoST-Eval"]),
        ("LongBench and LongBench v2.", ["LongBench", "LongBench v2"]),
        ("Many-shot with (MSW) and without (MSO).", ["MSW", "MSO"]),
        ("LAVA is old. LAVA-V1.5 is new.", ["LAVA", "LAVA-V1.5"]),
        ("LAVA-V1.5 beats LAVA.", ["LAVA", "LAVA-V1.5"]),
        ("LAVA-VAE is a model. We name its base LAVA.", ["LAVA", "LAVA-VAE"]),
        ("Delayed GRID (D-GRID) beats GRID.", ["GRID", "D-GRID"]),
        ("On STONE-10/100 we win, as STONE-10 shows.", ["STONE-10", "STONE-10/100"]),
        ("Lamp-4 with tools. Lamp-4 is old.", ["Lamp-4", "Lamp-4 with tools"]),
        ("LAVA, called by few, or QUARTZ, is used.", ["LAVA", "QUARTZ"]),
    ],
)
def test_two_things_of_one_text_keep_two_keys(text: str, names: list[str]) -> None:
    assert len(set(canonical_names(names, text).values())) == len(names)


def test_a_name_is_a_part_of_one_of_its_own_kind_only() -> None:
    text = "An ImageStone classifier is our baseline."
    kinds = {"ImageStone": {"dataset"}, "ImageStone classifier": {"baseline"}}
    assert canonical_names(kinds, text, kinds)["ImageStone"] == "imagestone"
    alike = {name: {"baseline"} for name in kinds}
    assert len(set(canonical_names(kinds, text, alike).values())) == 1


def test_an_acronym_says_nothing_of_another_paper() -> None:
    one = canonical_names(["MAC"], "MAC (Memory, Attention, Control) is a network.")
    assert canonical_names(["Memory, Attention, Control"], "No acronym here.") != one


@settings(deadline=None, max_examples=100)
@given(names=st.lists(NAMES, max_size=6), text=st.text(max_size=120))
def test_keys_are_the_same_each_time_and_for_each_order(names: list[str], text: str) -> None:
    keys = canonical_names(names, text)
    assert keys == canonical_names(names, text)
    assert set(keys) == set(names)
    assert all(keys.values())


def test_definitions_are_those_in_parentheses() -> None:
    text = (
        "Large language models (LLMs, for short) and ASR (automatic speech recognition) met (see below) in 2020 (so)."
    )
    assert list(definitions(text)) == [
        ("LLMs", "Large language models"),
        ("ASR", "automatic speech recognition"),
    ]


def test_short_forms_and_their_letters() -> None:
    assert looks_short("BERT") and looks_short("xRR") and looks_short("S2UT")
    assert not looks_short("attention") and not looks_short("A") and not looks_short("the best of the rest of us")
    assert letters_of("xRR", "cross-replication reliability")
    assert letters_of("L2E", "Learning to Explain")
    assert not letters_of("BERT", "a model that we call so")
    assert spells("WiC", "Word-in-Context") and spells("GBDTs", "Gradient Boosting Decision Trees")
    assert not spells("WiC", "Context of Words")


# --- the names of a schema


def test_the_names_of_a_schema_are_those_that_it_marks() -> None:
    number = {"metric": "VARCHAR", "dataset": "VARCHAR", "baseline": "VARCHAR"}
    expected = {"method": "VARCHAR", "datasets": ["VARCHAR"], "baselines": ["VARCHAR"], "headline_numbers": [number]}
    assert names_in(PAPER) == expected


def test_canonical_forms_have_the_shape_of_the_value() -> None:
    value = {
        "method": None,
        "task": "anything",
        "datasets": [{"name": "the Penn Treebank", "start": 0}, {"name": "PTB"}],
        "headline_numbers": [{"metric": "Acc@1", "dataset": "PTB", "baseline": ""}, {}],
    }
    text = "We parse the Penn Treebank (PTB)."
    assert canonical_of(value, names_in(PAPER), text, {"ptb": "Penn Treebank"}) == {
        "method": None,
        "datasets": ["Penn Treebank", "Penn Treebank"],
        "baselines": [],
        "headline_numbers": [
            {"metric": "top1accuracy", "dataset": "Penn Treebank", "baseline": None},
            {"metric": None, "dataset": None, "baseline": None},
        ],
    }


@pytest.mark.skipif(not GOLD.is_dir(), reason="needs the gold beside the checkout")
def test_the_pairs_of_the_gold_have_one_key() -> None:
    several = bench_names.apart()
    abstracts = [
        named
        for file in bench_names.FILES
        if (GOLD / file).exists()
        for named in bench_names.read_names(GOLD / file, several)
    ]
    assert not [line for named in abstracts for line in bench_names.wrong_merges(named)]
    pairs = merged = 0
    for named in abstracts:
        keys = named.keys()
        for field in bench_names.FIELDS:
            for one, other in bench_names.pairs(named, field):
                pairs += 1
                merged += keys[one] == keys[other]
    assert merged / pairs >= 0.95


def test_what_was_told_apart_by_eye_is_of_records_and_places() -> None:
    for record, parts in bench_names.apart().items():
        assert record and len(parts) > 1
        places = [place for part in parts for place in part]
        assert sorted(places) == list(range(len(places))), json.dumps(parts)


def test_the_pairs_are_told_apart_by_kind_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench_names.kind("CIFAR-10", "cifar10") == "alike"
    assert bench_names.kind("STAR", "Stepwise Tree Attention Readout") == "short and long"
    assert bench_names.kind("LSUN bedrooms", "LSUN") == "one within the other"
    assert bench_names.kind("Doom", "Quake") == "other"
    assert bench_names.main(["--gold", str(tmp_path)]) == 0
    assert "nothing measured" in capsys.readouterr().out
    gold = {
        "datasets": [["LSUN", "LSUN bedrooms"], ["Fashion-MNIST"], ["MNIST"]],
        "baselines": [],
        "method": ["A", "a"],
    }
    row = {"id": "made", "abstract": "A text with LSUN, Fashion-MNIST and MNIST.", "gold": gold}
    (tmp_path / "dev.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert bench_names.main(["--gold", str(tmp_path), "--merges", "--misses"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"dev +\| datasets +\| 1 of 1 +\| 100.0%", said)
    assert "0 wrong merges within an abstract" in said
