"""What travels between workers. Each exchange is one `Link`: all that a worker knows of the world."""
