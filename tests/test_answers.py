"""How the answer to a question looks to a person."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.contracts import CandidateItem, EvidenceAnchors, EvidenceChunk, Explanation, RetrievalBundle, RetrievalStats
from recollect.surfaces.answers import Wanted, bundle_text
from recollect.surfaces.terminal import Look, columns_of

STYLE = re.compile("\x1b\\[[0-9;]*m")


def source(item_id: str = "docs/setup.md", **said: Any) -> CandidateItem:
    given = {
        "kind": "document",
        "source": "file",
        "source_ref": item_id,
        "title": "Setup",
        "summary": None,
        "status": "approved",
        "score": 1.25,
        "score_text": 2.0,
        "score_vec": None,
        "rank_text": 1,
        "rank_vec": None,
        "snippet": "Backups are made at night.",
        "snippet_from": "chunk",
        "line_start": 41,
        "line_end": 41,
        "why": Explanation(sentence="found", parts=[]),
    }
    return CandidateItem(item_id=item_id, **given | said)  # type: ignore[arg-type]


def chunk(text: str, lines: tuple[int, int] | None = (40, 52), *, item_id: str = "docs/setup.md", **said: Any) -> EvidenceChunk:
    anchors = EvidenceAnchors(line_start=lines[0], line_end=lines[1], symbol=said.pop("symbol", None)) if lines else None
    given: dict[str, Any] = {"heading_path": None, "chunk_id": "c", "start_idx": 0, "end_idx": len(text), "token_count": 9}
    scores = {"score": 1.0, "score_text": 0.0, "score_vec": None}
    return EvidenceChunk(item_id=item_id, text=text, anchors=anchors, **scores | given | said)


def shown(*evidence: EvidenceChunk, of: list[CandidateItem] | None = None, look: Look | None = None, **wanted: Any) -> list[str]:
    bundle = RetrievalBundle(candidates=of or [source()], evidence=list(evidence), stats=RetrievalStats())
    return bundle_text(bundle, look or Look(), Wanted(**wanted)).splitlines()


# Evidence under its source.


def test_evidence_stands_under_its_source() -> None:
    assert shown(
        chunk("Backups are made at night.", (40, 52), heading_path=["Setup", "Backups"]),
        chunk("The cat sleeps.", (1, 1), item_id="cats.txt"),
        chunk("## Keys\n\nKeys rotate monthly. Two people\nopen the vault.", (60, 63), heading_path=["Setup", "Keys", "Rotation"]),
        of=[source(), source("cats.txt", title=None, snippet="The cat sleeps.", line_start=1), source("x", title="Dogs")],
    ) == [
        " 1. Setup  1.2500",
        "    docs/setup.md:41  lines 40-52 · Backups",
        "      Backups are made at night.",
        "    lines 60-63 · Keys > Rotation",
        "      Keys rotate monthly. Two people open the vault.",
        "",
        " 2. cats.txt:1  1.2500",
        "    line 1",
        "      The cat sleeps.",
        "",
        " 3. Dogs  1.2500",
        "    x:41",
        "      Backups are made at night.",
    ]  # fmt: skip


def test_a_snippet_of_the_whole_document_stands_over_all_its_evidence() -> None:
    lines = shown(chunk("Keys rotate.", (60, 63)), of=[source(snippet_from="doc")])
    assert lines[1:] == ["    docs/setup.md:41", "      Backups are made at night.", "    lines 60-63", "      Keys rotate."]


def test_code_is_named_by_its_definition() -> None:
    first = chunk("def parse(where):\n    return 1", (117, 127), symbol="parse")
    assert shown(first, of=[source(title=None)])[1] == "    lines 117-127 · parse"


def test_a_place_too_wide_for_one_line_gets_its_own() -> None:
    lines = shown(chunk("x", heading_path=["a heading of many words " * 5]))
    assert lines[1] == "    docs/setup.md:41"
    assert lines[2].startswith("    lines 40-52 · a heading of many words")
    assert lines[2].endswith("…")
    assert len(lines[2]) <= 80


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("One short sentence. And a second that goes on and on until no line of this width holds it.", "One short sentence."),
        ("word " * 40, "word " * 14 + "wor…"),
        ("x" * 5_000, "x" * 73 + "…"),
        ("---\n```python\ndef run():\n\treturn 1\n```", "def run(): return 1"),
        ("| a | b |\n|---|---|\n| c | d |", "| a | b | | c | d |"),
        ("***", "***"),
        ("b", "b"),
        ("データ。" * 30, "データ。" * 9),
        ("\x1b[2Jred\x07 alert", "\N{REPLACEMENT CHARACTER}[2Jred\N{REPLACEMENT CHARACTER} alert"),
    ],
    ids=lambda text: repr(text[:20]),
)  # fmt: skip
def test_a_further_chunk_is_shown_by_its_first_sentences(text: str, opening: str) -> None:
    assert shown(chunk("best"), chunk(text, (60, 63)))[-1] == f"      {opening}"


def test_words_of_the_question_stand_out_in_every_chunk() -> None:
    coloured = Look(colour=True)
    assert shown(chunk("best"), chunk("Keys rotate."), look=coloured, terms=["key"])[-1] == "      \x1b[1;33mKeys\x1b[0m rotate."
    assert shown(chunk("東京都"), look=coloured, terms=["東京", "京都"], full=True)[-1] == "      \x1b[1;33m東京都\x1b[0m"


def test_full_shows_the_whole_text_under_a_place_that_can_be_opened() -> None:
    evidence = [chunk("def run():\n\n\treturn 1  \n", (3, 5), symbol="run"), chunk("pass", (9, 9)), chunk("no lines", None)]
    assert shown(*evidence, of=[source("src/run.py", title=None)], full=True) == [
        " 1. src/run.py:41  1.2500",
        "      Backups are made at night.",
    ]
    own = [each.model_copy(update={"item_id": "src/run.py"}) for each in evidence]
    assert shown(*own, of=[source("src/run.py", title=None)], full=True) == [
        " 1. src/run.py  1.2500",
        "    src/run.py:3-5 · run",
        "      def run():",
        "",
        "          return 1",
        "",
        "    src/run.py:9",
        "      pass",
        "",
        "    src/run.py",
        "      no lines",
    ]


@given(
    st.lists(st.text(st.characters(exclude_categories=()), max_size=300), max_size=3),
    st.text(st.sampled_from("ab漢\x1b\n > "), max_size=120),
    st.booleans(),
    st.integers(20, 130),
)
def test_no_text_is_wider_than_the_terminal_or_leaves_anything_to_obey(texts: list[str], heading: str, full: bool, width: int) -> None:
    evidence = [chunk(text, heading_path=[heading]) for text in texts]
    lines = shown(*evidence, of=[source(title=heading)], look=Look(width=width, colour=True), full=full, terms=["a", "b"])
    plain = [STYLE.sub("", line) for line in lines]
    assert not any(re.search("[\x00-\x1f\x7f-\x9f]", line) for line in plain)
    texts_alone = [line for line in plain if line.startswith("      ")]
    assert all(sum(map(columns_of, line)) <= width for line in texts_alone)


# How it came about.

PARAMS = {
    "filters": {"year": 2024},
    "top_k_items": 3,
    "fts": {"mode": "web", "config": None},
    "scoring": {"blend": "linear", "w_text": 0.35},
    "cache": {"use_chunk_cache": True, "write_chunk_cache": True},
    "facets": [],
    "profile": "documents",
}
TIMING = {
    "embed": 2.0,
    "text": 3.0,
    "vector": 1.0,
    "fuse": 0.14,
    "cut": 7.0,
    "embed_chunks": 812.4,
    "chunks": 820.0,
    "show": 1.0,
    "total": 830.0,
}


def stats_text(*, embedded: int, width: int = 120, **cache: bool) -> str:
    params = {**PARAMS, "cache": PARAMS["cache"] | cache}  # type: ignore[operator]
    stats = RetrievalStats(timing_ms=TIMING, counts={"text": 5, "chunks_embedded": embedded}, params=params)
    bundle = RetrievalBundle(candidates=[], evidence=[], stats=stats)
    return bundle_text(bundle, Look(width=width), Wanted(debug=True))


def test_stats_are_a_line_for_each_section_and_stages_in_their_order() -> None:
    assert stats_text(embedded=0).splitlines() == [
        "ms          embed 2.0, text 3.0, vector 1.0, fuse 0.1, chunks 820.0 (cut 7.0, embed_chunks 812.4), show 1.0,",
        "            total 830.0",
        "counts      text 5, chunks_embedded 0",
        'search      filters {"year": 2024}, top_k_items 3, profile documents',
        "fts         mode web",
        "scoring     blend linear, w_text 0.35",
        "cache       use_chunk_cache true, write_chunk_cache true",
    ]


def test_an_answer_that_waited_for_the_model_says_so() -> None:
    assert " ".join(stats_text(embedded=37).splitlines()[-2:]) == (
        "37 chunks had to be embedded for this answer, which took 812 ms: it was bound by the model. "
        "Asked again, it takes what was kept of them from the cache."
    )
    assert stats_text(embedded=1, write_chunk_cache=False).replace("\n", " ").endswith(" Nothing of them was kept.")
    assert "bound" not in stats_text(embedded=0)
