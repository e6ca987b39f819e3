"""From files to batches: every source becomes one kind of dataset, and every input is checked."""
