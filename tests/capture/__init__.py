"""What Python programmers write, to be captured as graphs."""
