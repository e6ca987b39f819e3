"""Training in several processes: their start, and the exchange between them."""
