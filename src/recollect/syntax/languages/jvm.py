"""Java, Kotlin and Scala."""

from __future__ import annotations

from ..grammar import Grammar

JAVA = Grammar(
    package="tree_sitter_java",
    rules="""
        function (method_declaration name: (identifier) @name) @it
        function (constructor_declaration name: (identifier) @name) @it
        function (compact_constructor_declaration name: (identifier) @name) @it
        function (annotation_type_element_declaration name: (identifier) @name) @it
        class (class_declaration name: (identifier) @name) @it
        class (record_declaration name: (identifier) @name) @it
        interface (interface_declaration name: (identifier) @name) @it
        interface (annotation_type_declaration name: (identifier) @name) @it
        enum (enum_declaration name: (identifier) @name) @it
        upper (field_declaration declarator: (variable_declarator name: (identifier) @name)) @it
        constant (constant_declaration declarator: (variable_declarator name: (identifier) @name)) @it
        comment (line_comment) @it
        comment (block_comment) @it
        attribute (annotation) @it
        attribute (marker_annotation) @it
        import (import_declaration) @it
        call (method_invocation !object name: (identifier) @name)
        call (method_invocation object: (_) @of name: (identifier) @name)
        call (object_creation_expression type: (type_identifier) @name)
        call (object_creation_expression type: (generic_type (type_identifier) @name))
        call (annotation name: (identifier) @name)
        call (marker_annotation name: (identifier) @name)
        call (method_reference (_) @of (identifier) @name .)
        base (superclass (_) @name)
        base (super_interfaces (type_list (_) @name))
        base (extends_interfaces (type_list (_) @name))
        use (type_identifier) @name
    """,
)

KOTLIN = Grammar(
    package="tree_sitter_kotlin",
    bodies=("function_body", "class_body", "enum_class_body", "block"),
    rules="""
        function (function_declaration name: (identifier) @name) @it
        function (function_declaration (user_type) @owner . name: (identifier) @name) @it
        function (secondary_constructor "constructor" @name) @it
        class (class_declaration "class" name: (identifier) @name) @it
        interface (class_declaration "interface" name: (identifier) @name) @it
        enum (class_declaration name: (identifier) @name (enum_class_body)) @it
        class (object_declaration name: (identifier) @name) @it
        scope (companion_object) @it
        type (type_alias type: (identifier) @name) @it
        constant (source_file (property_declaration (variable_declaration (identifier) @name)) @it)
        constant (property_declaration (modifiers (property_modifier) @word) (variable_declaration (identifier) @name)) @it
        comment (line_comment) @it
        comment (block_comment) @it
        attribute (annotation) @it
        import (import) @it
        call (call_expression . (identifier) @name)
        call (call_expression . (navigation_expression . (_) @of (identifier) @name .))
        call (annotation (user_type (identifier) @name))
        call (constructor_invocation (user_type (identifier) @name))
        base (delegation_specifier (constructor_invocation (user_type) @name))
        base (delegation_specifier (user_type) @name)
        base (delegation_specifier (explicit_delegation . (user_type) @name))
        use (user_type . (identifier) @name)
    """,
)

SCALA = Grammar(
    package="tree_sitter_scala",
    rules="""
        function (function_definition name: (_) @name) @it
        function (function_declaration name: (_) @name) @it
        class (class_definition name: (_) @name) @it
        class (object_definition name: (_) @name) @it
        class (trait_definition name: (_) @name) @it
        class (given_definition name: (_) @name) @it
        enum (enum_definition name: (_) @name) @it
        module (package_object name: (_) @name) @it
        type (type_definition name: (_) @name) @it
        scope (extension_definition parameters: (parameters (parameter type: (_) @name))) @it
        constant (compilation_unit (val_definition pattern: (identifier) @name) @it)
        constant (object_definition body: (template_body (val_definition pattern: (identifier) @name) @it))
        comment (comment) @it
        comment (block_comment) @it
        attribute (annotation) @it
        import (import_declaration) @it
        call (call_expression function: (identifier) @name)
        call (call_expression function: (field_expression value: (_) @of field: (identifier) @name))
        call (call_expression function: (generic_function function: (identifier) @name))
        call (call_expression function: (generic_function function: (field_expression value: (_) @of field: (identifier) @name)))
        call (instance_expression (type_identifier) @name)
        call (instance_expression (generic_type type: (type_identifier) @name))
        call (infix_expression left: (_) @of operator: (identifier) @name)
        call (annotation name: (type_identifier) @name)
        base (extends_clause [(type_identifier) (generic_type) (stable_type_identifier)] @name)
        use (type_identifier) @name
    """,
)
