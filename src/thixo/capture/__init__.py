"""From running programs to graphs: tracing records what operators are called with."""
