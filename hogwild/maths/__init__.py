"""Pure functions on tensors: no settings, no state, no environment."""
