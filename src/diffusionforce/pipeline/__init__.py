"""One model on several devices in one process: where its blocks lie, how tensors cross, in which order work runs.

The words of this package, one for each idea:

block
    One layer of the diffusion transformer: an `nn.Module` that the model calls in turn.
chunk
    Consecutive blocks on one device. Chunk 0 also carries the prologue, the code before the first block.
stage
    All that one device owns: one chunk, or several that are not neighbours.
boundary
    Where a chunk ends and the tensors cross to another device.
tail
    The code after the last block: head and loss. It runs on the home device.
home
    The device on which the rest of the model (embeddings, head) and the caller's tensors live.
micro-batch
    The piece of a batch that travels together.
placement
    Which block lies on which device.
resident, paged
    In a device's memory for good; in pinned host memory and brought in for its turn.
tick
    One step of a schedule: the forward or backward of one chunk for one micro-batch.
"""
