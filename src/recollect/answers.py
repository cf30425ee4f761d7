"""The public values of an answer that a language model writes from passages: its sentences, what each rests on, and what was left out."""

from __future__ import annotations

from pydantic import Field

from .knowledge import AssembledContext, Citation
from .shapes import Contract


class AnswerSources(Contract):
    """What an answer may rest on: told before its first sentence."""

    citations: list[Citation] = Field(description="Every passage that the model was given, by its number.")


class AnswerSentence(Contract):
    """A sentence of an answer, or a row of a table, or a block of code, with what it rests on. A heading belongs to what follows it."""

    text: str = Field(description="The sentence, with its numbers as [1][3]: each is that of a passage.")
    citations: list[int] = Field(description="The numbers of the passages that it rests on, rising; there is at least one.")
    before: str = Field(default="", description="The white space that stands before it in the answer.")


class DroppedCitation(Contract):
    """A number that the model gave and that no passage has: it was taken out of its sentence."""

    cited: str = Field(description="What the model wrote, such as '99' or '4-12'.")
    sentence: str = Field(description="The sentence without it, or its beginning.")
    reason: str = Field(description="Why it was taken out, such as 'there is no passage 99: they are 1 to 7'.")


class LeftOutSentence(Contract):
    """Something that the model wrote and that is not in the answer."""

    text: str = Field(description="What it wrote, or its beginning.")
    reason: str = Field(description="Why it was left out, such as 'it cites no passage'.")


class Answer(Contract):
    """What a language model answers from passages alone: every sentence of it rests on some."""

    query: str = Field(description="The question.")
    text: str = Field(description="The answer: its sentences, each after the white space before it.")
    sentences: list[AnswerSentence] = Field(description="What it is made of, in order.")
    citations: list[Citation] = Field(description="The passages that it rests on, by number.")
    answered: bool = Field(description="Whether there is an answer: not where the passages do not say it, or no model could be asked.")
    unsaid: list[str] = Field(default_factory=list, description="What the passages do not say, in the words of the model.")
    dropped: list[DroppedCitation] = Field(default_factory=list, description="Citations that no passage has, which were taken out.")
    left_out: list[LeftOutSentence] = Field(default_factory=list, description="What the model wrote that rests on no passage.")
    context: AssembledContext = Field(description="What the model was given to read.")
    model: str | None = Field(description="What the model is called; null where none was asked.")
    failed: bool = Field(default=False, description="Whether the model did not come to its end; a note says what happened.")
    notes: list[str] = Field(default_factory=list, description="What else a reader should know.")


AnswerEvent = AnswerSources | AnswerSentence | Answer
"""What is told of an answer as it is written: its sources, each sentence, then all of it."""
