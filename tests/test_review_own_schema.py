"""Claims of a schema of one's own, corrected and added by a person: read as a reply, checked by the schema's model."""

import html
import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, field_validator, model_validator
from starlette.testclient import TestClient

from extract.claims import derive
from extract.grounding import GroundedText
from extract.review import own_schema
from extract.review.editing import Unfit
from extract.web.app import make_app
from extract.web.safety import Door, loopback_names
from schemas.base import Name, NumberQuote, UnitOf, ValueOf
from schemas.registry import LoadedSchema, fingerprinted
from store.db import Store
from store.rows import Outcome, Record, Schema
from tests.store_samples import NOON, PROMPT, a_run, made, rows
from tests.test_web_review import Visitor

TEXT = (
    "In 120 adults, Calmol at 5 mg was compared with Restol at 5 mg in Oslo and Bergen. "
    "Pain fell by 12% with Calmol; a second look at Calmol at 20 mg found 31 cases of nausea."
)


class Site(BaseModel):
    city: Name


class Arm(BaseModel):
    drug: Name
    dose: NumberQuote
    value: Annotated[float | None, ValueOf("dose")] = None
    unit: Annotated[str, UnitOf("dose")]
    form: Literal["tablet", "other"] = "other"
    signs: list[Name] = Field(default=[])
    sites: list[Site] = Field(default=[])

    @field_validator("signs")
    @classmethod
    def _few(cls, signs: list[str]) -> list[str]:
        if len(signs) > 2:
            raise ValueError("two signs at most")
        return signs


class People(BaseModel):
    size: NumberQuote | None
    count: Annotated[float | None, ValueOf("size")] = None
    mean_age: float | None = Field(default=None, ge=0)


class Study(BaseModel):
    phase: Literal["I", "II"] | None
    blinded: bool | None = None
    people: People
    cities: list[Name]
    arms: list[Arm]

    @model_validator(mode="after")
    def _apart(self) -> "Study":
        if len({(arm.drug, arm.dose) for arm in self.arms}) < len(self.arms):
            raise ValueError("two arms are the same")
        return self


REPLY = {
    "phase": None,
    "people": {"size": "120"},
    "cities": ["Oslo"],
    "arms": [{"drug": "Calmol", "dose": "5 mg", "unit": "mg", "sites": [{"city": "Oslo"}]}],
}


@pytest.fixture(scope="module")
def study() -> LoadedSchema:
    return fingerprinted("study", Study)


@pytest.fixture
def value(study: LoadedSchema) -> dict[str, Any]:
    """What is claimed of the text."""
    return derive(study.fields, Study.model_validate(REPLY), GroundedText(TEXT)).value


def write(study: LoadedSchema, value: dict[str, Any], path: str, known: Any = None, **written: str) -> Any:
    near = (known["start"], known["end"]) if isinstance(known, dict) else None
    form = {name.replace("of_", own_schema.OF): said for name, said in written.items()}
    return own_schema.made(study, path, TEXT, value, form, near, known)


def test_the_reply_comes_back_from_its_claims(study: LoadedSchema, value: dict[str, Any]) -> None:
    again = Study.model_validate(own_schema.as_reply(study.fields, value))
    assert again == Study.model_validate(REPLY).model_copy(
        update={"people": People(size="120", count=120.0)} if again.people.count else {}
    )


def test_an_added_item_is_read_from_the_text(study: LoadedSchema, value: dict[str, Any]) -> None:
    at = TEXT.index("20 mg")
    added = write(study, value, "arms", quote="20 mg", of_drug="calmol", of_unit="mg", of_signs="nausea\nPain")
    assert (added["drug"], added["dose"], added["value"], added["unit"]) == ("Calmol", "20 mg", 20.0, "mg")
    assert (added["start"], added["end"], added["form"]) == (at, at + 5, "other")
    assert [sign["name"] for sign in added["signs"]] == ["nausea", "Pain"]


def test_a_selection_says_which_of_two_equal_quotes_is_meant(study: LoadedSchema, value: dict[str, Any]) -> None:
    second = TEXT.rindex("5 mg")
    where = {"start": str(second), "end": str(second + 4)}
    assert write(study, value, "arms", quote="5 mg", of_drug="Restol", of_unit="mg", **where)["start"] == second
    assert write(study, value, "cities", quote="Bergen")["name"] == "Bergen"


def test_a_correction_keeps_what_the_form_does_not_show(study: LoadedSchema, value: dict[str, Any]) -> None:
    [arm] = value["arms"]
    assert [(one.name, one.value) for one in own_schema.inputs(study, "arms", arm)] == [
        ("of-drug", "Calmol"),
        ("quote", "5 mg"),
        ("of-unit", "mg"),
        ("of-form", "other"),
        ("of-signs", ""),
    ]
    changed = write(study, value, "arms", known=arm, quote="5 mg", of_drug="Calmol", of_unit="mg", of_form="tablet")
    assert changed == {**arm, "form": "tablet"}
    assert changed["sites"][0]["city"] == "Oslo"


def test_plain_fields_are_values_of_their_type(study: LoadedSchema, value: dict[str, Any]) -> None:
    assert write(study, value, "phase", quote="II") == "II"
    assert write(study, value, "blinded", quote="true") is True
    assert write(study, value, "people.mean_age", quote="41.5") == 41.5
    assert write(study, value, "people.size", quote="31") == "31"
    assert write(study, value, "people.count", quote="119") == 119.0
    assert write(study, value, "phase", quote="") is None


@pytest.mark.parametrize(
    ("path", "written", "why"),
    [
        ("phase", {"quote": "IV"}, "Input should be 'I' or 'II'"),
        ("people.mean_age", {"quote": "-4"}, "greater than or equal to 0"),
        ("people.mean_age", {"quote": "old"}, "valid number"),
        ("people.size", {"quote": "119"}, "size '119': not in the abstract"),
        ("arms", {"quote": "", "of_drug": "Calmol"}, "a quote is missing"),
        ("arms", {"quote": "7 mg", "of_drug": "Calmol", "of_unit": "mg"}, "7 mg"),
        ("arms", {"quote": "20 mg", "of_drug": "Dormol", "of_unit": "mg"}, "Dormol"),
        ("arms", {"quote": "20 mg", "of_drug": "Calmol", "of_unit": "kg"}, "the text reads 'mg'"),
        ("arms", {"quote": "5 mg", "of_drug": "Calmol", "of_unit": "mg", "of_form": "other"}, "two arms are the same"),
        (
            "arms",
            {"quote": "20 mg", "of_drug": "Calmol", "of_unit": "mg", "of_signs": "nausea\nPain\ncases"},
            "two signs at most",
        ),
        ("nothing", {"quote": "x"}, "can't be written here"),
    ],
)
def test_what_the_schema_or_the_text_refuses_is_no_claim(
    study: LoadedSchema, value: dict[str, Any], path: str, written: dict[str, str], why: str
) -> None:
    with pytest.raises(Unfit, match=re.escape(why)):
        write(study, value, path, **written)


def test_a_fault_elsewhere_keeps_nobody_from_correcting(study: LoadedSchema, value: dict[str, Any]) -> None:
    value["arms"][0]["drug"] = None  # a quote that the schema requires, and the text lacks
    assert write(study, value, "cities", quote="Bergen")["name"] == "Bergen"
    assert write(study, value, "phase", quote="I") == "I"


# --- on the page


@pytest.fixture
def store(tmp_path: Path, study: LoadedSchema, value: dict[str, Any]) -> Store:
    store = made(tmp_path)
    schema = Schema(study.hash, study.name, study.json_schema, json.dumps(study.structure))
    store.begin_run(a_run(schema=schema), schema, PROMPT)
    record = Record("sha256:01", "made.jsonl", "line 1", None, "A study", TEXT, {})
    derived = derive(study.fields, Study.model_validate(REPLY), GroundedText(TEXT))
    done = Outcome(record.record_id, "done", None, None, json.dumps(value), NOON, (), tuple(derived.evidence))
    store.save("run1", [record], [done])
    return store


def test_claims_are_corrected_and_added_on_the_page(store: Store, study: LoadedSchema) -> None:
    app = make_app(store.path, Door(loopback_names()), schemas=[study])
    with TestClient(app, base_url="http://127.0.0.1", follow_redirects=False) as site:
        visitor = Visitor(site)
        path = visitor.first()
        page = site.get(path).text
        assert 'data-form-of="arms"' in page and 'data-form-of="people.mean_age"' in page
        number = next(n for n in range(9) if 'name="of-drug" value="Calmol"' in site.get(f"{path}&at={n}").text)
        changed = {"quote": "5 mg", "of-drug": "Calmol", "of-unit": "mg", "of-form": "tablet", "of-signs": "Pain"}
        wrong = visitor.judge(f"{path}&at={number}", "corrected", **{**changed, "of-unit": "kg"})
        assert wrong.status_code == 422 and "the text reads" in html.unescape(wrong.text)
        assert visitor.judge(f"{path}&at={number}", "corrected", **changed).status_code == 303
        added = {"quote": "20 mg", "of-drug": "Calmol", "of-unit": "mg", "of-form": "other"}
        assert visitor.post(path, verdict="added", path="arms", **added).status_code == 303
        assert visitor.post(path, verdict="added", path="people.mean_age", quote="41.5").status_code == 303
    assert rows(store.path, "SELECT dose, form, origin, drug_canonical FROM reviewed_study_arms ORDER BY ordinal") == [
        ("5 mg", "tablet", "corrected", "calmol"),
        ("20 mg", "other", "added", "calmol"),
    ]
    assert rows(store.path, "SELECT people_mean_age, people_mean_age_origin FROM reviewed_studies") == [(41.5, "added")]


def test_without_the_schema_the_page_says_what_it_takes(store: Store) -> None:
    with TestClient(make_app(store.path, Door(loopback_names())), base_url="http://127.0.0.1") as site:
        visitor = Visitor(site)
        answer = site.get("/review/next?queue=weakest")
        path = str(answer.url).removeprefix("http://127.0.0.1")
        assert "data-form-of" not in answer.text
        refused = visitor.judge(path, "corrected", quote="x")
        assert refused.status_code == 422 and "start `claimbase serve` with --schema" in refused.text
