"""Property tests draw the same examples on every machine, and are never judged by the clock."""

from hypothesis import settings

settings.register_profile("deepergcn", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("deepergcn")
