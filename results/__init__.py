"""Scores of the paper's studies, and the tables and pictures made from them."""
