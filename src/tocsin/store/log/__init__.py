"""The log: segments of checksummed frames, one writer, readers up to the durable mark."""
