"""The languages that are read, each a table of rules.

A rule is a line: its role, and a query of the grammar. The role is the kind of a definition, or one of these:

- upper: a constant, where its name is written in capitals
- scope: holds definitions that belong to what it names, or to what it is in, without being a definition itself
- outer: stands around a definition, which begins and ends with it
- comment, attribute: may stand above a definition and belongs to it
- call: a use; use: one only where its name has a capital, as those of types have; base: what a class builds upon
- import: tells what is imported

What a query finds is called `it` where it plays the role itself, and beside that: `name`; `path`, a name with what it is taken of; `of`,
what a name is taken of; `declarator`, where the name is inside of it, as in C; `owner`, the type that a definition outside of it
belongs to; `body`, where that is no child of `it`; `word`, which must be one of `extracting.WORDS`; `last`, what is the end of `it` as far
as it imports.
"""
