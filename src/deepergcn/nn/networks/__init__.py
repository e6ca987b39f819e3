"""The networks: their frame, DeeperGCN, those that the paper names, and those it compares with."""
