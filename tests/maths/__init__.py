"""A package, so that its files may be called what the files of `tests/objectives` are called."""
