"""The mathematics: pure functions on tensors, and the graph's structure that they share."""
