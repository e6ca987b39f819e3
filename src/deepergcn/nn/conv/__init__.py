"""The paper's convolution and its parts: GENConv, aggregators, MsgNorm."""
