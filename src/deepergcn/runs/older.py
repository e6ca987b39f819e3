"""Runs of older versions, whose recipes leave unsaid what those versions inferred."""

from deepergcn.data.provenance import AnyProvenance, label_schema
from deepergcn.recipes.schema import Recipe

_SAID = 3  # from this format on, a file is read by the same rules as today


def as_read(recipe: Recipe, form: int, provenance: AnyProvenance | None) -> Recipe:
    """The recipe of a run of this format, with the kind of the task and the positive classes that it was trained with.

    Before format 3 whole numbers were classes, and the positive one of two classes came last in the alphabet.
    """
    labels = label_schema(provenance)
    if form >= _SAID or labels is None:
        return recipe
    said: dict[str, object] = {"kind": labels.kind}
    if labels.kind in ("binary", "multi-label"):
        said["positive"] = [pair[1] for pair in labels.classes]
    options = said | recipe.data.options
    return recipe.model_copy(update={"data": recipe.data.model_copy(update={"options": options})})
