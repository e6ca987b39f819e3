"""The run directory: recipe, log, state, model file, lock and summary."""
