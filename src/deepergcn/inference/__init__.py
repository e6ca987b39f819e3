"""A trained run applied to data: predict, embed, evaluate."""
