"""One file a command: parses its options, calls one function of a room above, prints what came out."""
