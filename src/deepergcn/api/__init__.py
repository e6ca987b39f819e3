"""From Python: training on what a user holds in memory, and estimators of scikit-learn's kind."""
