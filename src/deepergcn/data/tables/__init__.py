"""A user's own tables of nodes and edges."""
