"""What travels between workers. Each exchange is one `Link`, and where somebody else does the learning, its loop."""
