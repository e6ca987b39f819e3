"""Modules over ops: aggregators, GENConv, MsgNorm, encoders, blocks and networks."""
