"""Tuning: settings of a recipe searched by Optuna, on validation scores alone."""
