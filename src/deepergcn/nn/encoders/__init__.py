"""From raw node and edge features to the width of the network."""
