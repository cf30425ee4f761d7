"""What is known of a language: where its grammar is, and the rules by which its trees are read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A language as data. Nothing of it is loaded before a text is read."""

    package: str
    """The package that brings the grammar."""
    entry: str = "language"
    rules: str
    """A rule on each line (see `languages`)."""
    bodies: tuple[str, ...] = ()
    """The types of bodies, where a grammar does not name them as such."""
    has_docstrings: bool = False
    maker: str = ""
    """The method that makes an instance: calling it is a use of the class."""

    def parsed(self) -> tuple[list[str], str]:
        """The role of each rule, and all queries as one text."""
        lines = [line.strip().partition(" ") for line in self.rules.splitlines() if line.strip()]
        return [role for role, _, _ in lines], "\n".join(query for _, _, query in lines)
