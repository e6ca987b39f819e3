"""What is claimed about speed and memory, measured against the peers' own code: one script a subject."""
