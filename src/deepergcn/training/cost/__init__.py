"""What a run takes before it starts: seconds, memory and disk, from a probe and a model of their growth."""
