"""A random forest beside a network: fitted, blended with it, or its teacher."""
