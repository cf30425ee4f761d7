"""JavaScript and TypeScript, both with the markup that may stand in them."""

from __future__ import annotations

from ..grammar import Grammar

_FUNCTION = "[(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]"
_REQUIRED = "(call_expression function: (identifier) @word arguments: (arguments . (string)))"
_BOTH = """
    function (function_declaration name: (identifier) @name) @it
    function (generator_function_declaration name: (identifier) @name) @it
    function (variable_declarator name: (identifier) @name value: FUNCTION) @it
    function (method_definition name: (_) @name) @it
    function (assignment_expression left: (member_expression object: (_) @owner property: (_) @name) right: FUNCTION) @it
    function (variable_declarator value: (object (pair key: (property_identifier) @name value: FUNCTION) @it))
    function (assignment_expression right: (object (pair key: (property_identifier) @name value: FUNCTION) @it))
    function (export_statement value: (object (pair key: (property_identifier) @name value: FUNCTION) @it))
    function (export_statement "default" @name value: (function_expression !name body: (_) @body)) @it
    function (export_statement "default" @name value: (arrow_function body: (_) @body)) @it
    class (class_declaration name: (_) @name) @it
    class (variable_declarator name: (identifier) @name value: (class body: (_) @body)) @it
    class (export_statement "default" @name value: (class !name body: (_) @body)) @it
    constant (program (lexical_declaration "const" (variable_declarator name: (identifier) @name) @it))
    constant (program (export_statement declaration: (lexical_declaration "const" (variable_declarator name: (identifier) @name) @it)))
    upper (program (variable_declaration (variable_declarator name: (identifier) @name) @it))
    upper (program (lexical_declaration "let" (variable_declarator name: (identifier) @name) @it))
    outer (lexical_declaration . (variable_declarator) @it .) @outer
    outer (variable_declaration . (variable_declarator) @it .) @outer
    outer (export_statement declaration: (_) @it) @outer
    outer (expression_statement (assignment_expression right: [(arrow_function) (function_expression)]) @it) @outer
    comment (comment) @it
    attribute (decorator) @it
    import (import_statement) @it
    import (export_statement source: (string)) @it
    import (call_expression function: (import) arguments: (arguments . (string))) @it
    import (variable_declarator value: REQUIRED) @it
    import (variable_declarator value: (member_expression object: REQUIRED)) @it
    import REQUIRED @it
    call (call_expression function: (identifier) @name)
    call (call_expression function: (member_expression object: (_) @of property: (_) @name))
    call (new_expression constructor: (identifier) @name)
    call (new_expression constructor: (member_expression object: (_) @of property: (_) @name))
    call (decorator (identifier) @name)
    call (decorator (member_expression object: (_) @of property: (_) @name))
"""
_MARKUP = """
    use (jsx_opening_element name: (identifier) @name)
    use (jsx_opening_element name: (member_expression object: (_) @of property: (_) @name))
    use (jsx_self_closing_element name: (identifier) @name)
    use (jsx_self_closing_element name: (member_expression object: (_) @of property: (_) @name))
"""
_TYPES = """
    function (public_field_definition name: (_) @name value: FUNCTION) @it
    function (interface_body (method_signature name: (_) @name) @it)
    function (abstract_method_signature name: (_) @name) @it
    function (ambient_declaration (function_signature name: (identifier) @name) @it)
    class (abstract_class_declaration name: (_) @name) @it
    interface (interface_declaration name: (_) @name) @it
    type (type_alias_declaration name: (_) @name) @it
    enum (enum_declaration name: (_) @name) @it
    module (internal_module name: (_) @name) @it
    module (module name: (_) @name) @it
    outer (ambient_declaration (_) @it) @outer
    outer (expression_statement (internal_module) @it) @outer
    base (class_heritage (extends_clause value: (_) @name))
    base (class_heritage (implements_clause (_) @name))
    base (extends_type_clause type: (_) @name)
    use (type_identifier) @name
"""

_FIELDS = """
    function (field_definition property: (_) @name value: FUNCTION) @it
    base (class_heritage (_) @name)
"""


def _rules(*tables: str) -> str:
    return "".join(tables).replace("FUNCTION", _FUNCTION).replace("REQUIRED", _REQUIRED)


JAVASCRIPT = Grammar(package="tree_sitter_javascript", rules=_rules(_BOTH, _FIELDS, _MARKUP))
TYPESCRIPT = Grammar(package="tree_sitter_typescript", entry="language_typescript", rules=_rules(_BOTH, _TYPES))
TSX = Grammar(package="tree_sitter_typescript", entry="language_tsx", rules=_rules(_BOTH, _TYPES, _MARKUP))
