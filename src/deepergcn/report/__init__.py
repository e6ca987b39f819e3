"""Plots and TensorBoard events made from run directories."""
