"""Claims: what a reply says, tied to the text or left out, one value at a time."""

from typing import Any

import pytest
from pydantic import BaseModel

from extract.claims import Derived, derive
from extract.grounding import GroundedText
from schemas.base import Quote
from schemas.paper import Paper
from schemas.shape import shape_of

TEXT = (
    r"We present Lark, a parser. On TreeBank and on WebNews, Lark is \textbf{12.5\%} more accurate than Finch, uses "
    r"1.2M parameters, and runs from 3.1 to 18.9 percentage points above Wren on 21 tasks in 21 languages."
)


def number(quote: str, **said: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {"unit": "", "role": "gain", "direction": "increase", "qualifier": "exact"}
    return {"quote": quote, **usual, "metric": None, "dataset": None, "baseline": None, **said}


def derived(text: str = TEXT, **said: Any) -> Derived:
    usual: dict[str, Any] = {
        "contribution": "method",
        "task": "parsing",
        "method": None,
        "datasets": [],
        "baselines": [],
    }
    reply = Paper.model_validate({**usual, "headline_numbers": [], **said})
    return derive(shape_of(Paper), reply, GroundedText(text))


def test_a_claim_carries_the_texts_own_characters_and_where_they_stand() -> None:
    found = derived(
        method="lark", datasets=["TreeBank"], headline_numbers=[number("12.5%", unit="%", baseline="Finch")]
    )
    assert found.faults == []
    assert found.value["method"] == "Lark", "a name may differ in case; the text's way of writing it is kept"
    (dataset,) = found.value["datasets"]
    assert TEXT[dataset["start"] : dataset["end"]] == dataset["name"] == "TreeBank"
    (claim,) = found.value["headline_numbers"]
    assert (claim["value"], claim["unit"], claim["baseline"], claim["match"]) == (12.5, "%", "Finch", "folded")
    assert TEXT[claim["start"] : claim["end"]] == claim["quote"]
    assert {(e.path, e.quote, e.match) for e in found.evidence} == {
        ("method", "lark", "folded"),
        ("datasets", "TreeBank", "exact"),
        ("headline_numbers.quote", "12.5%", "folded"),
        ("headline_numbers.baseline", "Finch", "exact"),
    }


def test_a_name_that_the_text_lacks_costs_itself_alone() -> None:
    found = derived(method="Robin", datasets=["TreeBank", "GoldNews", "WebNews"])
    assert found.value["method"] is None
    assert [d["name"] for d in found.value["datasets"]] == ["TreeBank", "WebNews"]
    rejected = [e for e in found.evidence if e.reason]
    assert [(e.path, e.quote, e.match, e.start) for e in rejected] == [
        ("method", "Robin", "absent", None),
        ("datasets", "GoldNews", "absent", None),
    ]
    assert len(found.faults) == 2 and "'Robin'" in found.faults[0]


def test_a_number_that_the_text_lacks_costs_itself_alone() -> None:
    found = derived(headline_numbers=[number("15.2%", unit="%"), number("1.2M", unit="count", role="scale")])
    assert [(n["quote"], n["value"]) for n in found.value["headline_numbers"]] == [("1.2M", 1.2e6)]
    assert [e.quote for e in found.evidence if e.match == "absent"] == ["15.2%"]


def test_a_metric_that_the_text_lacks_leaves_its_number_standing() -> None:
    found = derived(headline_numbers=[number("12.5%", unit="%", metric="brilliance", baseline="Finch")])
    (claim,) = found.value["headline_numbers"]
    assert (claim["metric"], claim["baseline"], claim["value"]) == (None, "Finch", 12.5)
    assert [(e.path, e.quote) for e in found.evidence if e.reason] == [("headline_numbers.metric", "brilliance")]


def test_the_unit_that_the_text_says_wins_and_the_row_says_so() -> None:
    found = derived(headline_numbers=[number("12.5%", unit="x"), number("18.9", unit="%")])
    first, second = found.value["headline_numbers"]
    assert (first["unit"], second["unit"]) == ("%", "pp")
    assert first["note"] == "unit: the model said 'x', the text reads '%'"
    assert "said '%', the text reads 'pp'" in second["note"]
    assert [e.path for e in found.evidence if e.reason] == ["headline_numbers.unit"] * 2
    assert len(found.faults) == 2


def test_a_unit_that_may_stand_beside_the_text_is_kept() -> None:
    found = derived(headline_numbers=[number("21", unit="count", role="scale")])
    assert found.value["headline_numbers"][0]["unit"] == "count" and not found.faults


def test_one_of_two_equal_numbers_is_the_one_beside_what_it_is_said_of() -> None:
    found = derived(headline_numbers=[number("21", unit="count", metric="languages")])
    assert found.value["headline_numbers"][0]["start"] == TEXT.index("21 languages")


def test_equal_numbers_get_places_of_their_own() -> None:
    claims = [number("21", unit="count", metric="tasks"), number("21", unit="count", metric="languages")]
    found = derived(headline_numbers=claims).value["headline_numbers"]
    said = {n["metric"]: n["start"] for n in found}
    assert said == {"tasks": TEXT.index("21 tasks"), "languages": TEXT.index("21 languages")}


def test_what_is_said_twice_is_one_claim() -> None:
    found = derived(
        datasets=["WebNews", "WebNews"], headline_numbers=[number("12.5%", unit="%"), number("12.5%", unit="%")]
    )
    assert len(found.value["datasets"]) == 1
    assert len(found.value["headline_numbers"]) == 1


def test_a_quote_that_is_no_number_makes_no_claim() -> None:
    found = derived(headline_numbers=[number("TreeBank")])
    assert found.value["headline_numbers"] == []
    (rejected,) = [e for e in found.evidence if e.reason]
    assert rejected.quote == "TreeBank" and rejected.reason


def test_an_empty_string_is_nothing_said() -> None:
    found = derived(method="", datasets=[""], headline_numbers=[number("12.5%", unit="%", metric="")])
    assert (found.value["method"], found.value["datasets"], found.faults) == (None, [], [])
    assert found.value["headline_numbers"][0]["metric"] is None


class Site(BaseModel):
    city: Quote
    wards: list[Quote]
    beds: float


class Study(BaseModel):
    lead: Site
    sites: list[Site]
    free: list[str]


def test_any_model_is_walked() -> None:
    text = "Led from Oslo (ward A), with Bergen (ward B, ward C)."
    lead = {"city": "Oslo", "wards": ["ward A"], "beds": 2.5}
    other = {"city": "Bergen", "wards": ["ward B", "ward X", "ward C"], "beds": 1.0}
    absent = {"city": "Turku", "wards": [], "beds": 1.0}
    reply = Study.model_validate({"lead": lead, "sites": [absent, other], "free": ["a", "b"]})
    found = derive(shape_of(Study), reply, GroundedText(text))
    assert found.value["lead"]["city"] == "Oslo" and found.value["free"] == ["a", "b"]
    (site,) = found.value["sites"]
    assert [w["name"] for w in site["wards"]] == ["ward B", "ward C"]
    assert (site["beds"], text[site["start"] : site["end"]]) == (1.0, "Bergen")
    assert {(e.path, e.ordinal, e.quote) for e in found.evidence if not e.reason} == {
        ("lead.city", 0, "Oslo"),
        ("lead.wards", 0, "ward A"),
        ("sites.city", 0, "Bergen"),
        ("sites[0].wards", 0, "ward B"),
        ("sites[0].wards", 1, "ward C"),
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_hold_is_a_fault(value: float) -> None:
    reply = Site(city="Oslo", wards=[], beds=value)
    found = derive(shape_of(Site), reply, GroundedText("In Oslo."))
    assert found.value["beds"] is None and "beds" in found.faults[0]


@pytest.mark.parametrize("said", ["up to", "2.14", "the", "More", "on"])
def test_words_that_name_nothing_are_no_name(said: str) -> None:
    text = "Up to 2.14 more of the 12% on it."
    found = derived(text, datasets=[said], headline_numbers=[number("12%", unit="%", baseline=said)])
    assert found.value["datasets"] == [] and found.value["headline_numbers"][0]["baseline"] is None
    assert {e.reason for e in found.evidence if e.reason} == {"names nothing"}


@pytest.mark.parametrize("said", ["A*", "BEST-1", "T5", "2048 game", "百度"])
def test_odd_names_are_names(said: str) -> None:
    assert [d["name"] for d in derived(f"It beats {said}, and more.", datasets=[said]).value["datasets"]] == [said]
