"""A summary of every recipe."""

from dataclasses import dataclass

from deepergcn.recipes.load import load_recipe, recipe_names
from deepergcn.recipes.schema import Recipe
from deepergcn.runs.model.network import count_parameters


@dataclass(frozen=True)
class RecipeEntry:
    """A summary of a recipe; fields are None if they depend on the user's data or nothing is published."""

    name: str
    summary: str
    task: str | None
    network: str
    layers: int
    aggregator: str
    parameters: int | None
    metric: str | None
    published: float | None
    deviation: float | None


def list_recipes() -> list[RecipeEntry]:
    """The recipes in the package."""
    return [_entry(load_recipe(name)) for name in recipe_names()]


def _entry(recipe: Recipe) -> RecipeEntry:
    inputs, published = recipe.data.inputs, recipe.published
    return RecipeEntry(
        name=recipe.name,
        summary=recipe.summary,
        task=None if inputs is None else f"{inputs.task.kind}, {inputs.task.level}s",
        network=recipe.model.network,
        layers=recipe.model.num_layers,
        aggregator=_aggregator(recipe),
        parameters=None if inputs is None else count_parameters(recipe, inputs),
        metric=None if inputs is None else inputs.task.metric,
        published=None if published is None else published.score,
        deviation=None if published is None else published.deviation,
    )


def _aggregator(recipe: Recipe) -> str:
    model, options = recipe.model, recipe.model.options()
    match model.aggr:
        case "softmax":
            name, value, learned = "softmax, beta", options.get("beta", 1.0), options.get("learn_beta")
        case "power_mean":
            name, value, learned = "power mean, p", options.get("p", 1.0), options.get("learn_p")
        case tuple(names):
            return ", ".join(names)
        case name:
            return name or ""
    return f"{name} {value:g}{' learned' if learned or model.network == 'DyResGEN' else ''}"
