"""Run folders: what a training leaves behind, and the only thing that tools read."""
