"""Retrievers for frameworks, a module for each: none is imported before it is asked for, since each needs its framework."""
