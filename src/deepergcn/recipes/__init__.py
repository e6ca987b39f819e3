"""Experiments as YAML files, one file per experiment, and the one schema that validates them all."""

from deepergcn.recipes.load import load_recipe, read_recipe, recipe_names
from deepergcn.recipes.schema import Recipe

__all__ = ["Recipe", "load_recipe", "read_recipe", "recipe_names"]
