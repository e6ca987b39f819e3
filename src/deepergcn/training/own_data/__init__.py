"""Settings for training on a user's own files, found from the files."""

from deepergcn.training.own_data.choices import Choices
from deepergcn.training.own_data.found import OwnData
from deepergcn.training.own_data.graphs import own_graphs
from deepergcn.training.own_data.links import own_links
from deepergcn.training.own_data.molecules import own_molecules
from deepergcn.training.own_data.tables import own_tables
from deepergcn.training.own_data.typed_tables import own_typed_tables

__all__ = ["Choices", "OwnData", "own_graphs", "own_links", "own_molecules", "own_tables", "own_typed_tables"]
