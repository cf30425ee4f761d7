"""The service over HTTP: REST, MCP and a page, on one library. It parses, asks the library, and maps errors; it decides nothing."""
