"""C, C++, Go, Rust and Swift."""

from __future__ import annotations

from ..grammar import Grammar

_C = """
    function (function_definition declarator: (_) @declarator) @it
    function (preproc_function_def name: (identifier) @name value: (_)? @body) @it
    class (struct_specifier name: (_) @name body: (_) @body) @it
    class (union_specifier name: (_) @name body: (_) @body) @it
    class (type_definition type: (struct_specifier body: (_) @body) declarator: (type_identifier) @name) @it
    class (type_definition type: (union_specifier body: (_) @body) declarator: (type_identifier) @name) @it
    enum (enum_specifier name: (_) @name body: (_) @body) @it
    enum (type_definition type: (enum_specifier body: (_) @body) declarator: (type_identifier) @name) @it
    type (type_definition type: (_) declarator: (_) @declarator) @it
    constant (preproc_def name: (identifier) @name value: (_)) @it
    constant (declaration (type_qualifier) @word declarator: (init_declarator declarator: (_) @declarator)) @it
    constant (declaration (storage_class_specifier) @word declarator: (init_declarator declarator: (_) @declarator)) @it
    comment (comment) @it
    import (preproc_include) @it
    call (call_expression function: (identifier) @name)
    call (call_expression function: (field_expression argument: (_) @of field: (field_identifier) @name))
    use (type_identifier) @name
"""

C = Grammar(package="tree_sitter_c", rules=_C)

CPP = Grammar(
    package="tree_sitter_cpp",
    rules=f"""
        {_C}
        class (class_specifier name: (_) @name body: (_) @body) @it
        module (namespace_definition name: (_) @name) @it
        type (alias_declaration name: (type_identifier) @name) @it
        type (concept_definition name: (identifier) @name) @it
        function (field_declaration declarator: (function_declarator declarator: (field_identifier) @name) default_value: (_)) @it
        outer (template_declaration [(class_specifier) (struct_specifier) (function_definition)] @it) @outer
        outer (template_declaration [(alias_declaration) (concept_definition)] @it) @outer
        attribute (attribute_declaration) @it
        call (call_expression function: (qualified_identifier) @path)
        call (call_expression function: (template_function name: (identifier) @name))
        call (call_expression function: (field_expression argument: (_) @of field: (template_method name: (field_identifier) @name)))
        call (new_expression type: (_) @path)
        base (base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @name)
    """,
)

GO = Grammar(
    package="tree_sitter_go",
    rules="""
        function (function_declaration name: (identifier) @name) @it
        function (method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (_) @name) @it
        function (method_elem name: (_) @name) @it
        class (type_spec name: (type_identifier) @name type: (struct_type (_) @body)) @it
        interface (type_spec name: (type_identifier) @name type: (interface_type "{" @body)) @it
        type (type_spec name: (type_identifier) @name) @it
        type (type_alias name: (type_identifier) @name) @it
        constant (const_spec name: (identifier) @name) @it
        constant (source_file (var_declaration (var_spec name: (identifier) @name) @it))
        constant (source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @it)))
        outer (type_declaration . (type_spec) @it .) @outer
        outer (type_declaration . (type_alias) @it .) @outer
        outer (const_declaration . (const_spec) @it .) @outer
        outer (var_declaration . (var_spec) @it .) @outer
        comment (comment) @it
        import (import_spec) @it
        call (call_expression function: (identifier) @name)
        call (call_expression function: (selector_expression operand: (_) @of field: (field_identifier) @name))
        call (call_expression function: (type_instantiation_expression type: (type_identifier) @name))
        call (composite_literal type: (type_identifier) @name)
        call (composite_literal type: (qualified_type package: (_) @of name: (_) @name))
        base (struct_type (field_declaration_list (field_declaration !name type: (_) @name)))
        base (interface_type (type_elem (_) @name))
        use (type_identifier) @name
        use (qualified_type package: (_) @of name: (_) @name)
    """,
)

RUST = Grammar(
    package="tree_sitter_rust",
    rules="""
        function (function_item name: (_) @name) @it
        function (function_signature_item name: (_) @name) @it
        function (macro_definition name: (identifier) @name "{" @body) @it
        function (macro_definition name: (identifier) @name) @it
        class (struct_item name: (_) @name) @it
        class (union_item name: (_) @name) @it
        class (trait_item name: (_) @name) @it
        enum (enum_item name: (_) @name) @it
        module (mod_item name: (_) @name body: (_) @body) @it
        type (type_item name: (_) @name) @it
        scope (impl_item type: (_) @name) @it
        constant (const_item name: (_) @name) @it
        constant (static_item name: (_) @name) @it
        comment (line_comment) @it
        comment (block_comment) @it
        attribute (attribute_item) @it
        import (use_declaration) @it
        import (extern_crate_declaration) @it
        import (mod_item !body) @it
        call (call_expression function: (identifier) @name)
        call (call_expression function: (field_expression value: (_) @of field: (field_identifier) @name))
        call (call_expression function: (scoped_identifier path: (_) @of name: (identifier) @name))
        call (call_expression function: (generic_function function: (identifier) @name))
        call (call_expression function: (generic_function function: (scoped_identifier path: (_) @of name: (identifier) @name)))
        call (call_expression function: (generic_function function: (field_expression value: (_) @of field: (field_identifier) @name)))
        call (macro_invocation macro: (identifier) @name)
        call (macro_invocation macro: (scoped_identifier path: (_) @of name: (identifier) @name))
        call (struct_expression name: (type_identifier) @name)
        base (trait_item bounds: (trait_bounds (_) @name))
        base (impl_item trait: (_) @name)
        use (type_identifier) @name
    """,
)

SWIFT = Grammar(
    package="tree_sitter_swift",
    rules="""
        function (function_declaration name: (simple_identifier) @name) @it
        function (protocol_function_declaration name: (simple_identifier) @name) @it
        function (init_declaration "init" @name) @it
        function (deinit_declaration "deinit" @name) @it
        function (subscript_declaration "subscript" @name (computed_property) @body) @it
        class (class_declaration name: (type_identifier) @name) @it
        enum (class_declaration name: (type_identifier) @name body: (enum_class_body)) @it
        interface (protocol_declaration name: (type_identifier) @name) @it
        scope (class_declaration "extension" name: (_) @name) @it
        type (typealias_declaration . name: (type_identifier) @name) @it
        type (typealias_declaration (modifiers) . name: (type_identifier) @name) @it
        constant (source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @it)
        comment (comment) @it
        comment (multiline_comment) @it
        attribute (attribute) @it
        import (import_declaration) @it
        call (call_expression . (simple_identifier) @name)
        call (call_expression . (navigation_expression target: (_) @of suffix: (navigation_suffix suffix: (simple_identifier) @name)))
        base (inheritance_specifier inherits_from: (_) @name)
        use (user_type . (type_identifier) @name)
    """,
)
