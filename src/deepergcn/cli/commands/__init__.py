"""One file per command: parses its options, calls one function of another package, prints the result."""
