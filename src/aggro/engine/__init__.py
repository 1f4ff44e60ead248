"""Arrays in, arrays out, compiled: rows, steps, the rule protocol and the one pass."""
