"""Training in several processes: their start, and what they tell one another."""
