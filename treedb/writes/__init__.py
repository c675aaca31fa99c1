"""Change: what is asked, what it comes to, and the one writer that makes it durable."""
