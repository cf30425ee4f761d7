"""How people and programs reach the library: the command line."""
