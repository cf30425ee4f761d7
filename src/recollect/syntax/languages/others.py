"""C#, Ruby, PHP and the shell."""

from __future__ import annotations

from ..grammar import Grammar

CSHARP = Grammar(
    package="tree_sitter_c_sharp",
    rules="""
        function (method_declaration name: (identifier) @name) @it
        function (constructor_declaration name: (identifier) @name) @it
        function (operator_declaration "operator" @name) @it
        function (local_function_statement name: (identifier) @name) @it
        class (class_declaration name: (identifier) @name) @it
        class (struct_declaration name: (identifier) @name) @it
        class (record_declaration name: (identifier) @name) @it
        interface (interface_declaration name: (identifier) @name) @it
        enum (enum_declaration name: (identifier) @name) @it
        type (delegate_declaration name: (identifier) @name) @it
        module (namespace_declaration name: (_) @name) @it
        constant (field_declaration (modifier) @word (variable_declaration (variable_declarator name: (identifier) @name))) @it
        upper (field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @it
        comment (comment) @it
        attribute (attribute_list) @it
        import (using_directive) @it
        call (invocation_expression function: (identifier) @name)
        call (invocation_expression function: (generic_name (identifier) @name))
        call (invocation_expression function: (member_access_expression expression: _ @of name: (identifier) @name))
        call (invocation_expression function: (member_access_expression expression: _ @of name: (generic_name (identifier) @name)))
        call (conditional_access_expression condition: (_) @of (member_binding_expression name: (identifier) @name))
        call (object_creation_expression type: (identifier) @name)
        call (object_creation_expression type: (generic_name (identifier) @name))
        call (attribute name: (identifier) @name)
        base (base_list (_) @name)
        use (_ type: (identifier) @name)
        use (_ returns: (identifier) @name)
        use (generic_name (identifier) @name)
        use (type_argument_list (identifier) @name)
    """,
)

RUBY = Grammar(
    package="tree_sitter_ruby",
    maker="new",
    rules="""
        function (method name: (_) @name) @it
        function (singleton_method name: (_) @name) @it
        class (class name: (_) @name) @it
        module (module name: (_) @name) @it
        scope (singleton_class) @it
        constant (assignment left: (constant) @name) @it
        comment (comment) @it
        import (call !receiver method: (identifier) arguments: (argument_list . (string))) @it
        call (call !receiver method: (_) @name)
        call (call receiver: (_) @of method: (_) @name)
        base (class superclass: (superclass (_) @name))
        base (call !receiver method: (identifier) @word arguments: (argument_list [(constant) (scope_resolution)] @name))
    """,
)

PHP = Grammar(
    package="tree_sitter_php",
    entry="language_php",
    rules="""
        function (function_definition name: (name) @name) @it
        function (method_declaration name: (name) @name) @it
        class (class_declaration name: (name) @name) @it
        class (trait_declaration name: (name) @name) @it
        interface (interface_declaration name: (name) @name) @it
        enum (enum_declaration name: (name) @name) @it
        module (namespace_definition name: (namespace_name) @name body: (_) @body) @it
        constant (const_declaration (const_element . (name) @name)) @it
        comment (comment) @it
        attribute (attribute_list) @it
        import (namespace_use_declaration) @it
        import (require_expression) @it
        import (require_once_expression) @it
        import (include_expression) @it
        import (include_once_expression) @it
        call (function_call_expression function: (name) @name)
        call (function_call_expression function: (qualified_name) @path)
        call (member_call_expression object: (_) @of name: (name) @name)
        call (nullsafe_member_call_expression object: (_) @of name: (name) @name)
        call (scoped_call_expression scope: (_) @of name: (name) @name)
        call (object_creation_expression (name) @name)
        call (object_creation_expression (qualified_name) @path)
        call (attribute (name) @name)
        base (base_clause (_) @name)
        base (class_interface_clause (_) @name)
        base (declaration_list (use_declaration (_) @name))
        use (named_type (name) @name)
    """,
)

SHELL = Grammar(
    package="tree_sitter_bash",
    rules="""
        function (function_definition name: (word) @name) @it
        upper (program (variable_assignment name: (variable_name) @name) @it)
        upper (program (declaration_command (variable_assignment name: (variable_name) @name)) @it)
        comment (comment) @it
        import (command name: (command_name) . argument: (_) @last) @it
        call (command name: (command_name (word) @name))
    """,
)
