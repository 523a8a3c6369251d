"""Every format that is read: an invented sample of each, and the real files of ../shared/formats with their counts."""

import json
import os
from pathlib import Path

import pytest

from extract.errors import InputError
from extract.readers import Notices, read
from extract.readers.cleaning import cleaned
from extract.readers.latex import unescaped
from extract.readers.markup import unmarked
from store.rows import Record
from tests import reader_samples as samples

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("CLAIMBASE_SHARED", ROOT / ".." / "shared")) / "formats"


def records(folder: Path, name: str, content: str | bytes, notices: Notices | None = None) -> list[Record]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read([str(path)], notices=notices))


@pytest.mark.parametrize("name", sorted(set(samples.TEXTS) - {"pubmed.xml", "feed.atom", "anthology.xml"}))
@pytest.mark.parametrize("how", ["plain", "packed", "utf-16", "crlf", "no suffix"])
def test_both_papers_come_out_of_every_format(tmp_path: Path, name: str, how: str) -> None:
    content = samples.TEXTS[name]
    if how == "crlf":
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    raw = content.encode("utf-16" if how == "utf-16" else "utf-8")
    path = {"packed": f"{name}.gz", "no suffix": "input"}.get(how, name)
    found = records(tmp_path, path, samples.packed(raw) if how == "packed" else raw)
    assert [record.text for record in found] == [samples.FIRST, samples.SECOND]
    assert [record.title for record in found] == ([None, None] if name == "plain.txt" else list(samples.TITLES))
    assert {record.source for record in found} == {str(tmp_path / path)}


@pytest.mark.parametrize(
    ("name", "locators", "source_ids", "meta"),
    [
        ("plain.txt", ("line 3", "line 5"), (None, None), {"heading": "Workshop on Order"}),
        ("lines.jsonl", ("line 1", "line 2"), ("p1", "p2"), {"year": 2031, "venue": "Order"}),
        ("list.json", ("record 1", "record 2"), ("p1", "p2"), {"year": 2031, "venue": "Order"}),
        ("openreview1.json", ("record 1, record 1", "record 1, record 2"), ("aB1", "aB2"), {"keywords": ["order"]}),
        (
            "openreview2.json",
            ("record 1, record 1", "record 1, record 2"),
            ("aB1", "aB2"),
            {"keywords": ["order"], "venue": "Order 2031 poster", "year": 2031},
        ),
        (
            "s2.json",
            ("record 1, record 1", "record 1, record 2"),
            ("s1", "s2"),
            {"doi": "10.5555/whim.1", "year": 2031, "venue": "Order", "keywords": ["Computer Science"]},
        ),
        (
            "pwc.json",
            ("record 1", "record 2"),
            ("3101.00001", None),
            {"url": "https://papers.example/whim", "year": 2031, "venue": "Order 2031", "keywords": ["Sorting"]},
        ),
        (
            "zotero.csv",
            ("line 2", "line 3"),
            ("K1", "K2"),
            {"doi": "10.5555/whim.1", "keywords": ["order", "whim"], "Decision": "oral"},
        ),
        ("tabs.tsv", ("line 2", "line 3"), ("1", "2"), {}),
        ("semicolons.csv", ("line 3", "line 4"), ("1", "2"), {}),
        (
            "library.bib",
            ("line 4", "line 14"),
            ("whim31", "pile31"),
            {"url": "https://order.example/a_b", "year": 2031, "venue": "Proceedings of Order"},
        ),
        (
            "library.ris",
            ("line 3", "line 16"),
            ("77", None),
            {"doi": "10.5555/whim.1", "year": 2031, "venue": "Order", "keywords": ["order", "whim"]},
        ),
        (
            "pubmed.nbib",
            ("line 1", "line 10"),
            ("111", "112"),
            {"doi": "10.5555/whim.1", "year": 2031, "venue": "Journal of order", "keywords": ["order"]},
        ),
    ],
)
def test_a_record_keeps_its_place_its_id_and_what_is_known_of_it(
    tmp_path: Path, name: str, locators: tuple[str, str], source_ids: tuple[str, str], meta: dict[str, object]
) -> None:
    found = records(tmp_path, name, samples.TEXTS[name])
    assert tuple(record.locator for record in found) == locators
    assert tuple(record.source_id for record in found) == source_ids
    kept = {name: value for name, value in found[0].meta.items() if name not in ("raw", "forum", "arxiv_id", "url_abs")}
    assert kept == meta


def test_a_record_without_an_abstract_is_named(tmp_path: Path) -> None:
    notices = Notices()
    records(tmp_path, "library.bib", samples.BIBTEX, notices)
    records(tmp_path, "pubmed.xml", samples.PUBMED, notices)
    records(tmp_path, "openreview.json", samples.OPENREVIEW_1, notices)
    assert notices.counts == {"no_abstract": 3}
    assert [line.partition(": ")[2] for line in notices.shown["no_abstract"]] == [
        "line 15: no abstract in 'A title alone'",
        "record 3: no abstract in 'A letter'",
        "record 1, record 3: no abstract in 'rev'",
    ]


def test_bibtex_is_undone_and_kept_as_it_was(tmp_path: Path) -> None:
    first, second = records(tmp_path, "library.bib", samples.BIBTEX)
    assert "12\\% faster than \\emph{Bubble}" in str(first.meta["raw"])
    assert second.meta == {"venue": "Order & Chaos"}


def test_pubmed_has_its_labels_and_its_powers(tmp_path: Path) -> None:
    first, second = records(tmp_path, "pubmed.xml", samples.PUBMED)
    assert first.text == "BACKGROUND: Lists are long. RESULTS: We sort 10^5 of them, < 1 s each."
    assert (first.source_id, first.title, first.locator) == ("111", samples.TITLES[0], "record 1")
    raw = str(first.meta["raw"])
    assert raw.startswith('<Abstract><AbstractText Label="BACKGROUND">') and "10<sup>5</sup>" in raw
    assert {k: v for k, v in first.meta.items() if k != "raw"} == {
        "doi": "10.5555/whim.1", "year": 2031, "venue": "Journal of order", "keywords": ["order"]
    }  # fmt: skip
    assert (second.text, second.meta) == (samples.SECOND, {})


def test_arxivs_feed_keeps_its_latex(tmp_path: Path) -> None:
    first, second = records(tmp_path, "feed.atom", samples.ATOM)
    assert first.text == r"We sort ten lists with Quirksort. It is $\mathbf{12}\%$ faster."
    assert first.source_id == "3101.00001v2"
    assert {k: v for k, v in first.meta.items() if k != "raw"} == {
        "doi": "10.5555/whim.1", "url": "https://arxiv.org/abs/3101.00001v2", "year": 2031, "keywords": ["cs.DS"]
    }  # fmt: skip
    assert (second.text, second.source_id) == (samples.SECOND, "3101.00002v1")


def test_arxivs_snapshot_keeps_its_latex(tmp_path: Path) -> None:
    [record] = records(tmp_path, "arxiv.json", samples.ARXIV_SNAPSHOT + "\n")
    assert record.text == r"We sort ten lists with Quirksort. It is $12\%$ faster."
    assert (record.title, record.source_id) == ("Sorting by whim", "3101.00001")
    assert record.meta["year"] == 2031 and record.meta["keywords"] == ["cs.DS", "stat.ML"]
    assert record.meta["raw"] == "We sort ten lists with\nQuirksort. It is $12\\%$ faster."


def test_the_anthology_gives_volume_and_formulas(tmp_path: Path) -> None:
    first, second = records(tmp_path, "anthology.xml", samples.ANTHOLOGY)
    assert (first.text, first.title) == ("We sort ten lists in $O(n)$.", "Sorting by Whim")
    assert first.source_id == "2031.order-1.1" and "<tex-math>" in str(first.meta["raw"])
    assert {k: v for k, v in first.meta.items() if k != "raw"} == {
        "doi": "10.5555/whim.1",
        "url": "https://aclanthology.org/2031.order-1.1/",
        "year": 2031,
        "venue": "Proceedings of Order",
    }
    assert second.text == samples.SECOND


@pytest.mark.parametrize("packed", [False, True])
def test_a_workbook_is_read_below_its_header(tmp_path: Path, packed: bool) -> None:
    content = samples.workbook()
    first, second = records(tmp_path, "a.bin", samples.packed(content) if packed else content)
    assert (first.text, first.title, first.source_id) == (samples.FIRST, samples.TITLES[0], "7")
    assert (first.locator, first.meta) == ("sheet 'Sheet', row 3", {"year": 2031})
    assert (second.text, second.locator) == (samples.SECOND, "sheet 'Sheet', row 4")


@pytest.mark.parametrize("packed", [False, True])
def test_parquet_is_read_by_rows(tmp_path: Path, packed: bool) -> None:
    content = samples.parquet(tmp_path)
    first, second = records(tmp_path, "a.bin", samples.packed(content) if packed else content)
    assert (first.text, first.title, first.source_id, first.locator) == (
        *(samples.FIRST, samples.TITLES[0]),
        "1",
        "row 1",
    )
    assert first.meta == {"keywords": ["order"], "made": "2031-05-01"}
    assert second.text == samples.SECOND


def test_other_shapes_of_json(tmp_path: Path) -> None:
    openalex = {
        "results": [
            {"id": "W1", "display_name": "T", "abstract_inverted_index": {"sort": [1, 3], "We": [0], "and": [2]}}
        ]
    }
    crossref = {
        "message": {
            "items": [
                {
                    "DOI": "10.5555/a",
                    "title": ["T"],
                    "abstract": "<jats:title>Abstract</jats:title><jats:p>We find p &amp;lt; 0.05.</jats:p>",
                    "issued": {"date-parts": [[2031, 5]]},
                    "container-title": ["Order"],
                }
            ]
        }
    }
    by_id = {"a1": {"title": "T", "abstract": "One."}, "a2": {"title": "U", "abstract": "Two."}}
    assert [r.text for r in records(tmp_path, "a.json", json.dumps(openalex))] == ["We sort and sort"]
    [record] = records(tmp_path, "b.json", json.dumps(crossref))
    assert (record.text, record.source_id) == ("We find p < 0.05.", "10.5555/a")
    assert {k: v for k, v in record.meta.items() if k in ("doi", "year", "venue")} == {
        "doi": "10.5555/a", "year": 2031, "venue": "Order"
    }  # fmt: skip
    assert [(r.source_id, r.text) for r in records(tmp_path, "c.json", json.dumps(by_id))] == [
        ("a1", "One."),
        ("a2", "Two."),
    ]


@pytest.mark.parametrize(
    "prose",
    [
        "We read images, text, and audio.",
        "We read images, text, and audio\nof pebbles, shells, and sand, which is hard.",
        "Text; we sort it.\n\nSummary, abstract, title",
        "[1] We sort. {2} We stack, text, too.",
    ],
)
def test_prose_that_lists_things_is_no_table(tmp_path: Path, prose: str) -> None:
    first = records(tmp_path, "a.txt", prose)[0]
    assert first.text == " ".join(prose.partition("\n\n")[0].split("\n"))


def test_a_paper_with_a_list_in_it_is_a_paper(tmp_path: Path) -> None:
    notices = Notices()
    rows = [{"abstract": "One."}, {"title": "T", "data": []}, {"title": "U", "items": [{"n": 1}]}, {"data": []}]
    assert len(records(tmp_path, "a.json", json.dumps(rows), notices)) == 1
    assert notices.counts == {"no_abstract": 3}


def test_a_bibtex_column_makes_no_bibtex(tmp_path: Path) -> None:
    [record] = records(tmp_path, "a.csv", 'id,abstract,bibtex\n1,One.,"\n@article{a, title = {T}}\n"\n')
    assert (record.text, record.source_id) == ("One.", "1")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("10<sup>5</sup> and 10<sup>−3</sup>", "10^5 and 10^−3"),
        ("the 5<sup>th</sup>, CO<sub>2</sub>, x<sub>i</sub>", "the 5th, CO2, xi"),
        ("a 2<sub>3</sub>", "a 2_3"),
        ("p<q and r>s, a<b and c>d, $a<b>c$", "p<q and r>s, a<b and c>d, $a<b>c$"),
        ("<i>in <b>vivo</b></i> &#946;-test &lt;x&gt; &unknown; A&B;", "in vivo β-test <x> &unknown; A&B;"),
        (
            "<mml:math><mml:msup><mml:mn>10</mml:mn><mml:mn>5</mml:mn></mml:msup></mml:math>",
            "10^5",
        ),
        ("<alternatives><tex-math>$x^2$</tex-math><mml:math><mml:mi>x</mml:mi></mml:math></alternatives>", "$x^2$"),
        ('<span class="a">one</span><a href="http://x.example">two</a>', "onetwo"),
        (r"$x < y$ \textbf{17.06\%} & more", r"$x < y$ \textbf{17.06\%} & more"),
    ],
)
def test_marks_become_text(text: str, wanted: str) -> None:
    assert unmarked(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (r"17.06\% of \$5 \& a\_b", "17.06% of $5 & a_b"),
        (r"{\"a} \'e {\'{\i}} \v{c} \c c \ss{} {\o}re \L{}", "ä é í č ç ß øre Ł"),
        (r"$x^2 \%$ and $\mathbf{3.01\times}$", r"$x^2 \%$ and $\mathbf{3.01\times}$"),
        (r"{BERT} \emph{fast} \textbf{17.06\%} \url{http://a.example}", "BERT fast 17.06% http://a.example"),
        (r"{\textbackslash}textbf\{17.06{\textbackslash}\%\} \$k\$", r"\textbf{17.06\%} $k$"),
        (r"10\textsuperscript{5}, 5\textsuperscript{th}", "10^5, 5th"),
        ("50% more, ~5% and Fig.~3 -- ``so''", "50% more, ~5% and Fig.\u00a03 – “so”"),
        (r"\href{http://a.example}{here} \unknown{this} \alpha", "here this α"),
        ("plain words", "plain words"),
    ],
)
def test_bibtex_escapes_are_undone_once_and_outside_of_math(text: str, wanted: str) -> None:
    assert unescaped(text) == wanted


def test_wrapped_lines_are_joined_and_paragraphs_kept() -> None:
    assert cleaned("  One\n  two.\r\n\r\n \nThree all-\norders, pre-\nand post.\x00", "plain") == (
        "One two.\n\nThree all-orders, pre- and post.\x00"
    )


COUNTS = {
    "acl_anthology_2022.naloma.xml": (5, 0, 0), "acl_without_abstracts.bib": (10, 0, 0),
    "arxiv_one.atom.xml": (1, 1, 0), "arxiv_snapshot.jsonl": (40, 40, 0), "arxiv_ten.atom.xml": (10, 10, 0),
    "asreview_baseline_empty_values.ris": (4, 2, 0), "asreview_baseline_tag-notes.ris": (12, 0, 0),
    "asreview_duplicate_records.csv": (14, 10, 0), "asreview_embase.csv": (6, 6, 0), "asreview_embase.ris": (6, 6, 0),
    "asreview_generic.csv": (2, 2, 0), "asreview_generic_column_names_with_spaces.csv": (2, 2, 0),
    "asreview_generic_labels_no_abs.csv": (0, 0, 0), "asreview_generic_semicolon.csv": (2, 2, 0),
    "asreview_generic_tab.tab": (2, 2, 0), "asreview_generic_tab.tsv": (2, 2, 0),
    "asreview_missing_values.csv": (4, 2, 0), "asreview_proquest.ris": (6, 6, 0),
    "asreview_pubmed_zotero.ris": (6, 6, 0), "asreview_ris_issue_1099.txt": (7, 7, 0),
    "asreview_web_of_science.txt": (10, 10, 0), "medline_1.nbib": (1, 1, 0), "medline_2.nbib": (4, 4, 0),
    "openreview_oral.csv": (67, 64, 3), "openreview_v1_notes.json": (2, 2, 0), "paperlists_colm2025.json": (20, 20, 0),
    "pmlr_with_abstracts.bib": (20, 20, 0), "pubmed_2.xml": (2, 2, 0), "pubmed_29768149.xml": (1, 1, 0),
    "rispy_example_bom.ris": (1, 0, 0), "rispy_example_empty_tag.ris": (1, 1, 0),
    "rispy_example_extraneous_data.ris": (2, 2, 0), "rispy_example_multi_unknown_tags.ris": (1, 0, 0),
    "rispy_example_multiline.ris": (3, 3, 0), "semantic_scholar_paper.json": (1, 1, 0),
}  # fmt: skip
"""Of each real file: records found, with an abstract, broken."""


@pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared/formats here")
@pytest.mark.parametrize("name", COUNTS)
def test_real_files_give_what_is_in_them(name: str) -> None:
    notices, with_abstract = Notices(), 0
    try:
        for record in read([str(SHARED / name)], notices=notices):
            assert record.text == record.text.strip() and record.locator
            with_abstract += 1
    except InputError as e:
        assert with_abstract == 0 and "abstract" in str(e)
    broken = notices.counts["broken"]
    assert (with_abstract + broken + notices.counts["no_abstract"], with_abstract, broken) == COUNTS[name]
