"""Python."""

from __future__ import annotations

from ..grammar import Grammar

PYTHON = Grammar(
    package="tree_sitter_python",
    has_docstrings=True,
    rules="""
        function (function_definition name: (identifier) @name) @it
        class (class_definition name: (identifier) @name) @it
        type (type_alias_statement left: (type (identifier) @name)) @it
        type (type_alias_statement left: (type (generic_type (identifier) @name))) @it
        constant (module (expression_statement . (assignment left: (identifier) @name)) @it)
        outer (decorated_definition definition: (_) @it) @outer
        comment (comment) @it
        attribute (decorator) @it
        import (import_statement) @it
        import (import_from_statement) @it
        call (call function: (identifier) @name)
        call (call function: (attribute object: (_) @of attribute: (identifier) @name))
        call (decorator (identifier) @name)
        call (decorator (attribute object: (_) @of attribute: (identifier) @name))
        base (class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @name))
        use (type (identifier) @name)
        use (type (attribute object: (_) @of attribute: (identifier) @name))
        use (generic_type (identifier) @name)
        use (type (binary_operator (identifier) @name))
    """,
)
