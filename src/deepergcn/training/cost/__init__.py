"""The cost of a run before it starts: time, memory and disk, from a probe and a model of their growth."""
