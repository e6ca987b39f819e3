"""One graph whose nodes and edges have types: the dataset, and how it is read from a table for each type."""
