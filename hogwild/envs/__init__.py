"""Environments: which one an id means, how games are preprocessed, and batches of them that step together."""
