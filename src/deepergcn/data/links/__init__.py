"""Links as a task: tables of pairs of nodes, pairs that are no link, and messages that do not give them away."""
