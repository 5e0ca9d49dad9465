"""What may go wrong with a run, and what becomes of it: events, deadlines, capsules, weights that are not finite."""
