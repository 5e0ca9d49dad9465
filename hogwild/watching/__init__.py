"""A training as a picture in the terminal: live workers, or a game of one's own with the newest weights."""
