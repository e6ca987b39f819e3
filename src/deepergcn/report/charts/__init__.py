"""Charts of lines: what they hold, how they are drawn, and those of runs and of studies."""
