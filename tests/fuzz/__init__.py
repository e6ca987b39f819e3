"""Hostile inputs for every door of the program, drawn from a seed: ``python -m tests.fuzz --seconds 3600 --seed 0``.

Every input ends in a success or in one clean error: no traceback, no hang, no signal, no memory beyond reason.
"""
