"""The same two invented papers in every format that is read: what the tests of readers share."""

import gzip
import io
import json
from collections.abc import Mapping
from pathlib import Path

FIRST = "We sort ten lists with Quirksort. It is 12% faster than Bubble on Sortbench."
SECOND = "Stacks forget. We give Pilework, which keeps 9 of 10 items."
TITLES = ("Sorting by whim", "Stacks that remember")

PLAIN = f"Workshop on Order\n\n{FIRST}\n\n{SECOND}\n"
JSON_LINES = "".join(
    json.dumps({"id": f"p{n}", "title": title, "abstract": text, "year": 2031, "venue": "Order"}) + "\n"
    for n, (title, text) in enumerate(zip(TITLES, (FIRST, SECOND), strict=True), 1)
)
JSON_LIST = json.dumps([json.loads(line) for line in JSON_LINES.splitlines()], indent=1)
OPENREVIEW_1 = json.dumps(
    {
        "notes": [
            {"id": "aB1", "forum": "aB1", "content": {"title": TITLES[0], "abstract": FIRST, "keywords": ["order"]}},
            {"id": "aB2", "forum": "aB2", "content": {"title": TITLES[1], "abstract": SECOND, "venue": "Order 2031"}},
            {"id": "rev", "forum": "aB2", "content": {"review": "Fine."}},
        ],
        "count": 3,
    }
)
OPENREVIEW_2 = json.dumps(
    {
        "notes": [
            {
                "id": "aB1",
                "content": {
                    "title": {"value": TITLES[0]},
                    "abstract": {"value": FIRST},
                    "keywords": {"value": ["order"], "readers": ["everyone"]},
                    "venue": {"value": "Order 2031 poster"},
                },
            },
            {"id": "aB2", "content": {"title": {"value": TITLES[1]}, "abstract": {"value": SECOND}}},
        ]
    },
    indent=2,
)
SEMANTIC_SCHOLAR = json.dumps(
    {
        "total": 2,
        "data": [
            {
                "paperId": "s1",
                "externalIds": {"DOI": "10.5555/whim.1", "CorpusId": 5},
                "title": TITLES[0],
                "abstract": FIRST,
                "year": 2031,
                "journal": {"name": "Order", "volume": "1"},
                "fieldsOfStudy": ["Computer Science"],
                "references": [{"paperId": "s9", "title": "Cited", "abstract": "Not a record."}],
            },
            {"paperId": "s2", "title": TITLES[1], "abstract": SECOND, "externalIds": None, "journal": None},
        ],
    }
)
PAPERS_WITH_CODE = json.dumps(
    [
        {
            "paper_url": "https://papers.example/whim",
            "arxiv_id": "3101.00001",
            "title": TITLES[0],
            "abstract": FIRST,
            "url_abs": "https://arxiv.example/abs/3101.00001",
            "proceeding": "Order 2031",
            "tasks": ["Sorting"],
            "date": "2031-01-02",
        },
        {"paper_url": "https://papers.example/pile", "arxiv_id": None, "title": TITLES[1], "abstract": SECOND},
    ]
)
CSV = (
    'Key,Title,"Abstract Note",DOI,"Manual Tags",Decision\r\n'
    f'K1,{TITLES[0]},"{FIRST}",10.5555/whim.1,order; whim,oral\r\nK2,{TITLES[1]},"{SECOND}",,,\r\n'
)
TSV = f"id\ttitle\tabstract\n1\t{TITLES[0]}\t{FIRST}\n2\t{TITLES[1]}\t{SECOND}\n"
SEMICOLONS = f"sep=;\nid;summary;title\n1;{FIRST};{TITLES[0]}\n2;{SECOND};{TITLES[1]}\n"
BIBTEX = rf"""% Encoding: UTF-8
@string{{order = {{Proceedings of Order}}}}

@inproceedings{{whim31,
  title = {{Sorting {{by}} whim}},
  author = {{M{{\"u}}ller, Ada}},
  booktitle = order,
  year = 2031,
  url = {{https://order.example/a\_b}},
  abstract = {{We sort ten lists with {{Quirksort}}. It is
    12\% faster than \emph{{Bubble}} on Sortbench.}},
}}
@comment{{left alone}}
@article{{pile31, title = "{TITLES[1]}", journal = "Order \& Chaos", abstract = "{SECOND}"}}
@misc{{none31, title = {{A title alone}}}}
"""
RIS = f"""Provider: a library

TY  - JOUR
ID  - 77
TI  - {TITLES[0]}
AU  - Muller, Ada
T2  - Order
PY  - 2031/05//
DO  - https://doi.org/10.5555/whim.1
KW  - order
KW  - whim
AB  - We sort ten lists with Quirksort.
      It is 12% faster than Bubble on Sortbench.
ER  -

TY  - CONF
T1  - {TITLES[1]}
N2  - {SECOND}
ER  -
"""
NBIB = f"""PMID- 111
TI  - {TITLES[0]}
AB  - We sort ten lists with Quirksort. It is 12% faster
      than Bubble on Sortbench.
LID - 10.5555/whim.1 [doi]
DP  - 2031 May
JT  - Journal of order
OT  - order

PMID- 112
TI  - {TITLES[1]}
AB  - {SECOND}
"""
PUBMED = f"""<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2031//EN" "https://dtd.example/pubmed.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">111</PMID><Article>
<Journal><JournalIssue><PubDate><Year>2031</Year></PubDate></JournalIssue><Title>Journal of order</Title></Journal>
<ArticleTitle>{TITLES[0]}</ArticleTitle><ELocationID EIdType="doi">10.5555/whim.1</ELocationID>
<Abstract><AbstractText Label="BACKGROUND">Lists are long.</AbstractText>
<AbstractText Label="RESULTS">We sort 10<sup>5</sup> of them, &lt; 1 s each.</AbstractText></Abstract>
</Article><KeywordList><Keyword>order</Keyword></KeywordList></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>112</PMID><Article><ArticleTitle>{TITLES[1]}</ArticleTitle>
<Abstract><AbstractText>{SECOND}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>113</PMID><Article><ArticleTitle>A letter</ArticleTitle></Article>
</MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""
ATOM = f"""<?xml version='1.0' encoding='UTF-8'?>
<feed xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/x</id><title>Query</title>
  <entry><id>http://arxiv.org/abs/3101.00001v2</id><title>{TITLES[0]}</title>
    <summary>  We sort ten lists with Quirksort.
It is $\\mathbf{{12}}\\%$ faster.
    </summary><published>2031-01-02T00:00:00Z</published><category term="cs.DS"/>
    <link href="https://arxiv.org/abs/3101.00001v2" rel="alternate"/><arxiv:doi>10.5555/whim.1</arxiv:doi></entry>
  <entry><id>http://arxiv.org/abs/3101.00002v1</id><title>{TITLES[1]}</title><summary>{SECOND}</summary></entry>
</feed>
"""
ANTHOLOGY = f"""<?xml version='1.0' encoding='UTF-8'?>
<collection id="2031.order"><volume id="1"><meta><booktitle>Proceedings of Order</booktitle><year>2031</year></meta>
<paper id="1"><title>Sorting by <fixed-case>W</fixed-case>him</title>
<abstract>We sort ten lists in <tex-math>O(n)</tex-math>.</abstract><url>2031.order-1.1</url>
<doi>10.5555/whim.1</doi></paper>
<paper id="2"><title>{TITLES[1]}</title><abstract>{SECOND}</abstract><url>2031.order-1.2</url></paper>
</volume></collection>
"""
ARXIV_SNAPSHOT = json.dumps(
    {
        "id": "3101.00001",
        "title": "Sorting by\n  whim",
        "categories": "cs.DS stat.ML",
        "doi": None,
        "abstract": "  We sort ten lists with\nQuirksort. It is $12\\%$ faster.\n",
        "versions": [{"version": "v1", "created": "Mon, 2 Jan 2031 19:18:42 GMT"}],
    }
)
TEXTS: Mapping[str, str] = {
    "plain.txt": PLAIN, "lines.jsonl": JSON_LINES, "list.json": JSON_LIST, "openreview1.json": OPENREVIEW_1,
    "openreview2.json": OPENREVIEW_2, "s2.json": SEMANTIC_SCHOLAR, "pwc.json": PAPERS_WITH_CODE, "zotero.csv": CSV,
    "tabs.tsv": TSV, "semicolons.csv": SEMICOLONS, "library.bib": BIBTEX, "library.ris": RIS, "pubmed.nbib": NBIB,
    "pubmed.xml": PUBMED, "feed.atom": ATOM, "anthology.xml": ANTHOLOGY,
}  # fmt: skip


def workbook() -> bytes:
    """Return an XLSX with a caption above the header, and a second sheet without abstracts."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Papers of the workshop"])
    for row in (["id", "Title", "Abstract", "Year"], [7, TITLES[0], FIRST, 2031], [8, TITLES[1], SECOND, 2031]):
        sheet.append(row)
    book.create_sheet("Notes").append(["nothing", "here"])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def parquet(folder: Path) -> bytes:
    """Return a Parquet file of the two papers."""
    import duckdb

    path = folder / "made.parquet"
    with duckdb.connect() as database:
        database.execute("CREATE TABLE p (id INTEGER, title VARCHAR, abstract VARCHAR, keywords VARCHAR[], made DATE)")
        for n, (title, text) in enumerate(zip(TITLES, (FIRST, SECOND), strict=True), 1):
            database.execute("INSERT INTO p VALUES (?, ?, ?, ['order'], '2031-05-01')", [n, title, text])
        database.execute(f"COPY p TO '{path}' (FORMAT parquet)")
    return path.read_bytes()


def packed(content: bytes) -> bytes:
    """Return `content` as a `.gz`."""
    return gzip.compress(content, mtime=0)
