"""Networks that turn observations into action probabilities and values: encoder, memory, heads."""
