"""Looking at a training while it goes on, at no cost to it while nobody does."""
