"""Turns a question into one to five requests: what to search for, and where. A language model does it, or rules."""
