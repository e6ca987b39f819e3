"""The convolution of the paper and its parts: GENConv, aggregators, MsgNorm."""
