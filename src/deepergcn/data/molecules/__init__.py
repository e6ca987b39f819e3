"""Molecules from SMILES and SDF files: read, featurised as OGB does, split."""
