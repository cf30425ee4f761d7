"""How the answers of the knowledge service look to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.contracts import (
    CandidateItem,
    EntityMention,
    Explanation,
    GraphEdge,
    QueryAnalysis,
    RetrievalBundle,
    RetrievalStats,
    SaidFilter,
)
from recollect.knowledge import (
    AssembledContext,
    ContextSection,
    GraphContext,
    GraphNode,
    ImpactContext,
    ImpactNode,
    LeftOut,
    RetrievalResult,
)
from recollect.surfaces.answers import Wanted, bundle_text
from recollect.surfaces.around import graph_text, impact_text, left_out_text, length_text, similar_text, way_text
from recollect.surfaces.terminal import Look
from recollect.surfaces.understood import analysis_notes, analysis_text

WHY = Explanation(sentence="found by words", parts=[])
EVIL = "a\x1b[2J\n\u202eb"


def edge(source: str, kind: str, target: str) -> GraphEdge:
    return GraphEdge(source=source, type=kind, target=target)


def node(
    node_id: str, via: Sequence[GraphEdge] = (), *, title: str | None = None, kind: str = "document", status: str | None = None
) -> GraphNode:
    last = via[-1].type if via else None
    return GraphNode(node_id=node_id, node_type=kind, title=title, status=status, distance=len(via), relationship_type=last, via=list(via))


def result(node_id: str, **more: Any) -> RetrievalResult:
    told: dict[str, Any] = {
        "content": "",
        "score": 1.0,
        "node_type": "design",
        "title": None,
        "path": None,
        "version": None,
        "status": "approved",
    }
    return RetrievalResult(node_id=node_id, distance=0, relationship_type=None, why=WHY, **(told | more))


def candidate(item_id: str, **more: Any) -> CandidateItem:
    unset = dict.fromkeys(("title", "summary", "source_ref", "score_text", "score_vec", "rank_text", "rank_vec", "snippet"))
    told: dict[str, Any] = {
        **unset,
        "kind": "decision",
        "source": "file",
        "status": "approved",
        "score": 1.0,
        "snippet_from": "unknown",
        "why": WHY,
    }
    return CandidateItem(item_id=item_id, **(told | more))


# Ways and trees.


def test_an_arrow_points_as_the_link_does_whichever_way_it_is_gone() -> None:
    via = [edge("b", "IMPLEMENTS", "a"), edge("b", "REFERENCES", "c")]
    assert way_text(via, "c") == "a ← IMPLEMENTS ← b → REFERENCES → c"
    assert way_text([edge("a", "CITES", "a")], "a") == "a → CITES → a"
    assert way_text([], "a") == ""


def test_a_graph_is_a_tree_of_what_led_to_what() -> None:
    code, guide = edge("src/queue.py", "IMPLEMENTS", "adr-7"), edge("docs/guide.md", "REFERENCES", "src/queue.py")
    nodes = [
        node("adr-7", title="Use a queue", kind="decision", status="approved"),
        node("adr-3", [edge("adr-7", "SUPERSEDES", "adr-3")], title="Use cron", kind="decision", status="superseded"),
        node("src/queue.py", [code], title="src/queue.py", kind="code", status="approved"),
        node("docs/guide.md", [code, guide], title="Guide"),
        node("product:kafka", [code, edge("src/queue.py", "MENTIONS", "product:kafka")], title="Kafka", kind="entity"),
    ]
    found = GraphContext(start_node="adr-7", max_distance=2, nodes=nodes, edges=[], truncated=False)
    assert graph_text(found, Look(80)).splitlines() == [
        "adr-7  Use a queue  (decision, approved)",
        "├─ → SUPERSEDES  adr-3  Use cron  (decision, superseded)",
        "└─ ← IMPLEMENTS  src/queue.py  (code, approved)",
        "   ├─ ← REFERENCES  docs/guide.md  Guide  (document)",
        "   └─ → MENTIONS  product:kafka  Kafka  (entity)",
    ]


def test_a_node_whose_predecessor_is_not_shown_is_not_lost() -> None:
    nodes = [node("a"), node("c", [edge("a", "X", "b"), edge("b", "Y", "c")])]
    text = graph_text(GraphContext(start_node="a", max_distance=2, nodes=nodes, edges=[], truncated=True), Look(80))
    assert text.splitlines() == ["a  (document)", "└─ → Y  c  (document)"]


def test_what_depends_on_a_node_comes_with_its_way() -> None:
    found = ImpactContext(
        node_id="adr-7",
        direct_impact=[ImpactNode(id="q.py", title=None, type="code", path=["adr-7", "q.py"], relationships=["IMPLEMENTS"])],
        indirect_impact=[
            ImpactNode(
                id="g.md", title="Guide", type="document", path=["adr-7", "q.py", "g.md"], relationships=["IMPLEMENTS", "REFERENCES"]
            )
        ],
        total_affected=2,
    )
    assert impact_text(found, Look(80)).splitlines() == [
        "direct",
        "  q.py  (code)",
        "    q.py → IMPLEMENTS → adr-7",
        "indirect",
        "  g.md  Guide  (document)",
        "    g.md → REFERENCES → q.py → IMPLEMENTS → adr-7",
    ]


def test_what_depends_on_a_definition_in_a_node_shows_that_the_node_defines_it() -> None:
    one = ImpactNode(id="b.py", title=None, type="code", path=["a.py", "a.py#f", "b.py"], relationships=["DEFINES", "CALLS"])
    found = ImpactContext(node_id="a.py", direct_impact=[one], indirect_impact=[], total_affected=1)
    assert impact_text(found, Look(80)).splitlines()[-1] == "    b.py → CALLS → a.py#f ← DEFINES ← a.py"


def test_similar_items_are_listed_with_scores_and_titles() -> None:
    found = [result("d1", title="Retries", path="docs/retries.md", similarity=0.9312), result("d2", score=0.5, status="draft")]
    assert similar_text(found, Look(80)).splitlines() == [
        " 1. Retries  0.9312",
        "    docs/retries.md  id d1  design, approved",
        " 2. d2  0.5000",
        "    design, draft",
    ]


def test_nothing_stored_reaches_the_screen_with_control_characters() -> None:
    via = [edge(EVIL, EVIL, "a")]
    graph = GraphContext(
        start_node=EVIL, max_distance=1, nodes=[node(EVIL), node("a", via, title=EVIL, kind=EVIL)], edges=[], truncated=False
    )
    one = ImpactNode(id=EVIL, title=EVIL, type=EVIL, path=["a", EVIL], relationships=[EVIL])
    shown = [
        graph_text(graph, Look(80)),
        impact_text(ImpactContext(node_id="a", direct_impact=[one], indirect_impact=[], total_affected=1), Look(80)),
        similar_text([result(EVIL, title=EVIL, path=EVIL, node_type=EVIL, status=EVIL)], Look(80)),
        analysis_text(analysis(EVIL), Look(80)),
        bundle_text(bundle(candidate("a", distance=1, via=via, historical=True, superseded_by=EVIL)), Look(80), Wanted()),
    ]
    assert [len(text.splitlines()) for text in shown] == [2, 3, 2, 7, 3]
    assert not any(character in text for text in shown for character in "\x1b\u202e")


# How a question was read.


def analysis(said: str = "note") -> QueryAnalysis:
    whole = EntityMention(text="Kafka", start=0, end=5, entity_id="product:kafka", name="Kafka", type="product", match="exact")
    near = EntityMention(text=said, start=6, end=9, entity_id="x:1", name="Note", type="x", match="fuzzy", others=["x:2"])
    return QueryAnalysis(
        original_query="approved queue designs",
        query_type="architecture",
        entities=[whole, near],
        filters=[SaidFilter(words="approved", filter={"status": "approved"})],
        suggested_expansions=["approved queue structures", said],
        notes=["nothing is called so"],
    )


def test_explain_shows_how_the_question_was_read() -> None:
    assert analysis_text(analysis(), Look(80)).splitlines() == [
        "intent          architecture",
        "entity          'Kafka' is product:kafka (product)",
        "entity          'note' is x:1 (x, spelt nearly as Note); or x:2",
        'filter          \'approved\' is {"status": "approved"}',
        "in other words  approved queue structures",
        "in other words  note",
        "note            nothing is called so",
    ]


def test_filters_doubts_and_notes_are_told_in_any_case() -> None:
    assert analysis_notes(analysis()) == [
        'read as a filter: \'approved\' is {"status": "approved"}',
        "several are called so: 'note' is x:1 (x, spelt nearly as Note); or x:2",
        "nothing is called so",
    ]
    assert analysis_notes(None) == []
    assert analysis_notes(QueryAnalysis(original_query="cats", query_type="general")) == []


def bundle(*candidates: CandidateItem, understood: QueryAnalysis | None = None) -> RetrievalBundle:
    return RetrievalBundle(candidates=list(candidates), evidence=[], stats=RetrievalStats(), analysis=understood)


def test_a_search_shows_the_way_to_what_the_graph_added_and_what_is_history() -> None:
    found = bundle(
        candidate("adr-7", title="Use a queue"),
        candidate("q.py", distance=1, via=[edge("q.py", "IMPLEMENTS", "adr-7")]),
        candidate("adr-3", title="Use cron", status="superseded", historical=True, superseded_by="adr-7"),
        candidate("adr-1", title="Use faxes", status="archived", historical=True),
    )
    assert bundle_text(found, Look(80), Wanted()).split("\n\n") == [
        " 1. Use a queue  1.0000\n    adr-7",
        " 2. q.py  1.0000\n    1 link away: adr-7 ← IMPLEMENTS ← q.py",
        " 3. Use cron  1.0000\n    adr-3  historical: superseded by adr-7",
        " 4. Use faxes  1.0000\n    adr-1  historical: archived",
    ]


def test_a_search_explains_how_the_question_was_read_before_its_results() -> None:
    found = bundle(candidate("adr-7"), understood=analysis())
    assert bundle_text(found, Look(80), Wanted(explain=True)).startswith("intent          architecture\n")
    assert bundle_text(found, Look(80), Wanted()).startswith(" 1. adr-7")


# Contexts.


def context(left_out: int, *, sections: bool = True) -> AssembledContext:
    made = [ContextSection(title="Primary Context", relevance="high", content="", passages=[])] if sections else []
    return AssembledContext(
        query="q", text="", format="markdown", sections=made, total_results=9, token_count=90, max_length=100, truncated=bool(left_out),
        left_out=[LeftOut(node_id=f"d{at}", title=None if at else "First", reason="no room: 512 tokens") for at in range(left_out)],
    )  # fmt: skip


def test_the_length_of_a_context_is_told_with_what_is_in_it() -> None:
    assert length_text(context(0)) == "90 of 100 tokens; Primary Context: 0 passages"
    assert length_text(context(1, sections=False)) == "90 of 100 tokens; nothing fits"


def test_what_was_left_out_is_told_with_the_reason_and_not_at_too_great_length() -> None:
    assert left_out_text(context(0)) == ""
    assert left_out_text(context(2)) == "left out or cut: First (no room: 512 tokens); d1 (no room: 512 tokens)"
    assert left_out_text(context(9)).endswith("; d4 (no room: 512 tokens); and 4 more")
