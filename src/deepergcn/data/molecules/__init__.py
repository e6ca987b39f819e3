"""Read molecules from SMILES and SDF files, featurize them as OGB does, and split them."""
