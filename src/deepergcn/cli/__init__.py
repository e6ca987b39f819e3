"""The command line: parses, calls one function of another room, prints."""
