"""What a language model writes, read as sentences that cite passages by number. Pure: nothing here asks a model."""
