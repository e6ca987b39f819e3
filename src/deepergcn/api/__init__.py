"""The Python interface: training on data in memory, and estimators in the style of scikit-learn."""
