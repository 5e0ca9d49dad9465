"""Settings: what they are, where they come from, and whether they make sense together."""
