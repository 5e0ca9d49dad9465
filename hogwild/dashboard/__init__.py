"""A local web page over the runs folder, live while they train. Nothing in here needs torch."""
