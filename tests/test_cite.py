"""What a model writes is read sentence by sentence: where each ends, which passages it cites, and what belongs in an answer."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.answers import AnswerSentence
from recollect.cite.draft import MAX_TOLD, Draft
from recollect.cite.numbers import resolved
from recollect.cite.sentences import MAX_CHARS, MAX_CODE_CHARS, Sentences, Written


def read(text: str, *, cuts: list[int] | None = None, broken: bool = False) -> list[Written]:
    """The sentences of a text that comes in these pieces, by default in one."""
    sentences = Sentences()
    edges = [0, *sorted(cut for cut in cuts or [] if cut < len(text)), len(text)]
    found = [each for start, end in pairwise(edges) for each in sentences.feed(text[start:end])]
    return found + sentences.end(broken=broken)


def texts(text: str) -> list[str]:
    return [each.text for each in read(text)]


# Where sentences end.


@pytest.mark.parametrize(
    "sentences",
    [
        ["It runs at midnight [1].", "It ends at noon [2]."],
        ["It runs at midnight. [1]", "It ends at noon. [2][3]"],
        ["It runs at midnight. [1] [2]", "It ends."],
        ["It runs at midnight [1, 2]!", "Does it end? [1-3]", "It does [3]…"],
        ["It takes 3.5 hours on example.com, e.g. on v1.2.3 [1].", "Dr. J. Smith knows vs. Mr. Jones [2]."],
        ["It is so.", "[1] says that it is not [1]."],
        ["It is so [1].", "npm runs it [2]."],
        ["According to [1], and [2] too, it is so."],
        ['He said "stop!" and left [1].', 'He said "stop." [1]', "**It is bold.** [2]", "It goes on."],
        ["Acme, Globex etc. [1].", "It goes on [2]."],
        ["Call `a.b(). C[1]. D` first [1].", "Then ``x ` y. Z`` [2]."],
        ["A tick ` alone is none [1].", "It goes on [2]."],
        ["Step 1. Install it [1].", "Step 2. Run it [1]."],
        ["備份在午夜執行。[1]", "保存七天[2]。", "好嗎？"],
        ["No end [1]"],
    ],
)
def test_a_sentence_ends_behind_its_stop_and_its_citations(sentences: list[str]) -> None:
    assert texts(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It runs\nat midnight [1]. It ends.", ["It runs\nat midnight [1].", "It ends."]),
        ("It runs [1]\nIt ends [2]", ["It runs [1]", "It ends [2]"]),
        ("It runs at Acme Inc.\n\nIt ends", ["It runs at Acme Inc.", "It ends"]),
        ("It runs.\n[1]\nIt ends\n\n[2]\n", ["It runs.\n[1]", "It ends\n\n[2]"]),
        ("It runs.\n[1] It ends.", ["It runs.", "[1] It ends."]),
        ("备份[1]。好。", ["备份[1]。", "好。"]),
        ("- one [1]\n- two. [2]\n  * three\n4) four [1].", ["- one [1]", "- two. [2]", "* three", "4) four [1]."]),
        ("The steps:\n1. one. Two [1].\n2. three", ["The steps:", "1. one.", "Two [1].", "2. three"]),
        ("# It is. Not. Two\nText [1].", ["# It is. Not. Two", "Text [1]."]),
        ("> quoted [1].\n> again [2].", ["> quoted [1].", "> again [2]."]),
        ("| a. B | b |\n|---|---|\n| c [1] | d. E |\nEnd.", ["| a. B | b |", "|---|---|", "| c [1] | d. E |", "End."]),
        ("Run [1]:\n\n```sh\na[1]. B\n\n# c\n```\n\nEnd.", ["Run [1]:", "```sh\na[1]. B\n\n# c\n```", "End."]),
        ("~~~~\n~~~\n~~~~~\nEnd", ["~~~~\n~~~\n~~~~~", "End"]),
        ("It runs [1].\r\n\r\nIt ends.", ["It runs [1].", "It ends."]),
        ("#hashtag is text. It is.", ["#hashtag is text.", "It is."]),
        ("-5 degrees. **Bold** is.", ["-5 degrees.", "**Bold** is."]),
        (" \n ", []),
        ("", []),
    ],
)
def test_lines_blocks_and_paragraphs_end_sentences_too(text: str, sentences: list[str]) -> None:
    assert texts(text) == sentences


def test_the_kind_the_white_space_and_the_citations_of_code_are_told() -> None:
    found = read("# A\n\n- b\n  - c [1].\n```\nd\n```\n[1] [2]\n\n| e |\nf")
    assert [(each.kind, each.before, each.tail) for each in found] == [
        ("heading", "", ""),
        ("item", "\n\n", ""),
        ("item", "\n  ", ""),
        ("code", "\n", "\n[1] [2]"),
        ("row", "\n\n", ""),
        ("prose", "\n", ""),
    ]


MIXED = """# Backups. Of all

They run at 3.5 o'clock, e.g. at night. [1] Dr. Smith `a. B [1]` knows [2, 3]! [4] says
no [1-3](http://x). Really? [none]

The steps are:

1. one [1].
2. two. [2]

```sh
run. It [1]
```
[1]

| a | b |
|---|---|
| c | d [1] |
備份[1]。好。[2] ` End. Of [passage 2] **it.** [3] ...
[1]
Yes [12"""


@given(st.lists(st.integers(min_value=0, max_value=len(MIXED)), max_size=60))
@settings(deadline=None)
def test_sentences_are_the_same_wherever_the_text_is_cut(cuts: list[int]) -> None:
    assert read(MIXED, cuts=cuts) == read(MIXED)


@given(st.text(alphabet="aA.1[]`\n -#|!:(。", max_size=60), st.lists(st.integers(min_value=0, max_value=60), max_size=60))
@settings(deadline=None, max_examples=1_000)
def test_any_text_is_read_alike_wherever_it_is_cut_and_nothing_of_it_is_lost(text: str, cuts: list[int]) -> None:
    found = read(text, cuts=cuts)
    assert found == read(text) == read(text, cuts=list(range(60)))
    assert "".join("".join(each.text + each.tail for each in found).split()) == "".join(text.split())


@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_sentence_that_never_ends_is_cut_off(piece: int) -> None:
    text = "on and " * 4_000
    found = read(text, cuts=list(range(0, len(text), piece)))
    assert {each.kind for each in found[:-1]} == {"endless"}
    assert all(len(each.text) <= MAX_CHARS for each in found)
    assert found == read(text)
    code = read("```\n" + "x\n" * MAX_CODE_CHARS)
    assert code[0].kind == "endless"
    assert len(code[0].text) <= MAX_CODE_CHARS


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("It runs [1]. It en", False),
        ("It runs [1]. It ends [1]", False),
        ("It runs [1]. It ends [1].", True),
        ("It runs [1]. It ends. [1]", True),
        ("It runs [1].\n\n```\ncode", False),
        ("It runs [1].\n\n```\ncode\n```", True),
        ("It runs [1].\n# A head", False),
    ],
)
def test_what_broke_off_is_not_whole(text: str, is_whole: bool) -> None:
    first, *_, last = read(text, broken=True)
    assert first.is_whole
    assert last.is_whole is is_whole
    assert read(text)[-1].is_whole is (is_whole or "```" not in text)


# Numbers.


@pytest.mark.parametrize(
    ("text", "shown", "numbers", "dropped"),
    [
        ("It is [1].", "It is [1].", (1,), ()),
        ("It is [3][1][1].", "It is [3][1].", (1, 3), ()),
        ("It is [1, 2; 3 and 2].", "It is [1][2][3].", (1, 2, 3), ()),
        ("It is [1-3].", "It is [1][2][3].", (1, 2, 3), ()),
        ("It is [3–1] [2 to 3].", "It is [1][2][3].", (1, 2, 3), ()),
        ("It is [^2], [Passage 1] and [sources 2, 3].", "It is [2], [1] and [2][3].", (1, 2, 3), ()),
        ("It is 【2†source】 and ［1］ and [[3]].", "It is [2] and [1] and [3].", (1, 2, 3), ()),
        ("It is [2](http://evil.example/?q=1).", "It is [2].", (2,), ()),
        ("It is [99].", "It is.", (), ("99",)),
        ("It is [0][1].", "It is [1].", (1,), ("0",)),
        ("It [7] is [8] so.", "It is so.", (), ("7", "8")),
        ("[9] is so.", "is so.", (), ("9",)),
        ("It is [2-99].", "It is [2][3].", (2, 3), ("2-99",)),
        ("It is [1-999999999999999999999].", "It is [1][2][3].", (1, 2, 3), ("1-999999999999…",)),
        ("`a[1]` is ``b[2] ` c`` of [3].", "`a[1]` is ``b[2] ` c`` of [3].", (3,), ()),
        ("An [x], [1a], [], [ and (1) are none.", "An [x], [1a], [], [ and (1) are none.", (), ()),
        ("It is [-1] and [1.5].", "It is [-1] and [1.5].", (), ()),
    ],
)
def test_numbers_of_passages_stay_and_others_are_taken_out(
    text: str, shown: str, numbers: tuple[int, ...], dropped: tuple[str, ...]
) -> None:
    found = resolved(text, {1, 2, 3})
    assert (found.text, found.numbers, found.dropped) == (shown, numbers, dropped)


def test_a_mark_that_the_passages_do_not_say_it_is_known() -> None:
    found = resolved("They do not say it [None].", {1})
    assert (found.text, found.is_unsaid) == ("They do not say it.", True)


@given(st.text(alphabet="[]【】0123456789,- a`^(.)", max_size=80))
@settings(deadline=None)
def test_no_number_without_a_passage_is_left_outside_of_code(text: str) -> None:
    found = resolved(text.replace("`", ""), {1, 2})
    again = resolved(found.text, {1, 2})
    assert again.numbers == found.numbers
    assert set(found.numbers) <= {1, 2}


# What belongs in an answer.


def drafted(text: str, *, broken: bool = False, known: int = 3) -> Draft:
    draft = Draft(range(1, known + 1))
    for written in read(text, broken=broken):
        kept = draft.take(written)
        assert kept is None or kept == draft.sentences[-1]
    draft.end()
    return draft


def left(draft: Draft) -> list[tuple[str, str]]:
    return [(each.text, each.reason) for each in draft.left_out]


CITES_NONE = "it cites no passage"


def test_what_cites_a_passage_belongs_in_an_answer_and_what_does_not_is_told() -> None:
    draft = drafted("Sure! It runs at midnight [1][99]. It is nice. It ends [7]. It is kept. [2, 3]")
    assert draft.sentences == [
        AnswerSentence(text="It runs at midnight [1].", citations=[1]),
        AnswerSentence(text="It is kept. [2][3]", citations=[2, 3], before=" "),
    ]
    assert draft.text == "It runs at midnight [1]. It is kept. [2][3]"
    assert left(draft) == [("Sure!", CITES_NONE), ("It is nice.", CITES_NONE), ("It ends [7].", "it cites no passage that there is")]
    assert [(each.cited, each.sentence, each.reason) for each in draft.dropped] == [
        ("99", "It runs at midnight [1].", "there is no passage 99: they are 1 to 3"),
        ("7", "It ends.", "there is no passage 7: they are 1 to 3"),
    ]
    assert draft.answers


@pytest.mark.parametrize(
    "text",
    [
        "It runs [1].\n\n- one [1]\n  - two [2]\n\nIt ends [3].",
        "# Backups\n\n## When\n\nAt night [1]. Or not [2].\n\n## Where\n\nOn tape [3].",
        "The steps are:\n\n1. Install it [1].\n2. Run it [2].",
        "The steps:\n- Setup:\n  - Install it [1].\n- Run it [2].",
        "**When**\n\nAt night [1].",
        "| a | b |\n|---|---|\n| c | d [1] |\n| e | f [2] |",
        "Run [1]:\n```sh\na[9]\n```\n[1]",
    ],
)
def test_the_layout_of_an_answer_stays(text: str) -> None:
    draft = drafted(text)
    assert draft.text == text
    assert draft.left_out == draft.dropped == []
    assert all(each.citations for each in draft.sentences)


def test_a_heading_belongs_to_what_follows_it() -> None:
    (sentence,) = drafted("# Backups\n\nAt night:\n\n- They run [1].").sentences
    assert sentence == AnswerSentence(text="# Backups\n\nAt night:\n\n- They run [1].", citations=[1])


@pytest.mark.parametrize(
    ("text", "shown", "told"),
    [
        ("# A\n\nno.\n\n# B\n\nyes [1].", "# B\n\nyes [1].", ["no.", "# A"]),
        ("# A\n\n## B\n\nno.\n\n## C\n\nyes [1].", "# A\n\n## C\n\nyes [1].", ["no.", "## B"]),
        ("Steps:\n- no\n- yes [1]", "Steps:\n- yes [1]", ["- no"]),
        ("Steps:\n- no\n\nyes [1]", "yes [1]", ["- no", "Steps:"]),
        ("yes [1].\n\nno.\n\nSteps:\n- no", "yes [1].", ["no.", "- no", "Steps:"]),
        ("yes [1].\n\nnever. Also yes [2].", "yes [1].\n\nAlso yes [2].", ["never."]),
        ("| a |\n|---|\n| no |\n| yes [1] |", "| a |\n|---|\n| yes [1] |", ["| no |"]),
        ("no.\n\n```\ncode\n```\nyes [1]", "yes [1]", ["no.", "``` code ```"]),
        ("```\n[1]\n```", "", ["``` [1] ```"]),
        ("Yes [1].\n\n```\na\n", "Yes [1].", ["``` a"]),
        (f"# {'Very ' * 100}\nyes [1]", "yes [1]", [f"# {'Very ' * 100}"[: MAX_TOLD - 1] + "…"]),
    ],
)
def test_what_introduces_nothing_is_left_out(text: str, shown: str, told: list[str]) -> None:
    draft = drafted(text)
    assert draft.text == shown
    assert [each.text for each in draft.left_out] == told


def test_code_rests_on_its_own_citations_or_on_those_of_the_sentence_before_it() -> None:
    found = drafted("Run it [2].\n\n```\na\n```\n\n```\nb\n```\n[1]\n").sentences
    assert [(each.text, each.citations) for each in found] == [
        ("Run it [2].", [2]),
        ("```\na\n```\n[2]", [2]),
        ("```\nb\n```\n[1]", [1]),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Die Auszüge sagen das nicht [none].",
        "The passages do not say who pays.",
        "The provided documents don't mention it.",
        "None of the passages says who pays.",
        "The context contains no information about that.",
        "There is nothing about it in the passages.",
        "I cannot answer that.",
    ],
)
def test_a_word_that_the_passages_do_not_say_it_is_no_answer(text: str) -> None:
    draft = drafted(text)
    assert (draft.text, draft.left_out, draft.answers) == ("", [], False)
    assert draft.unsaid == [text.replace(" [none]", "")]
    both = drafted(f"It runs at night [1]. {text}")
    assert (both.text, both.answers, both.unsaid) == ("It runs at night [1].", True, draft.unsaid)


def test_a_word_that_they_do_not_say_it_is_no_answer_even_if_it_cites_them() -> None:
    draft = drafted("The passages do not mention who pays [1][2].")
    assert draft.text
    assert not draft.answers
    assert drafted("The document does not support Windows [1].").answers


def test_what_broke_off_is_left_out() -> None:
    draft = drafted("It runs [1]. It is kept for 3 [2]", broken=True)
    assert draft.text == "It runs [1]."
    assert left(draft) == [("It is kept for 3 [2]", "it was not written to its end")]


def test_what_never_ends_is_left_out_and_told_by_its_beginning() -> None:
    draft = drafted("It goes [1] on " + "and on " * 2_000)
    assert draft.text == ""
    assert all(len(each.text) <= MAX_TOLD for each in draft.left_out)
    assert draft.left_out[0].reason == f"it does not end within {MAX_CHARS} characters"
