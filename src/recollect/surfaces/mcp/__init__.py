"""The Model Context Protocol: a library as a few tools for agents, over stdio or streamable HTTP."""
