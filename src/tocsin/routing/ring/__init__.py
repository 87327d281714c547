"""A ring of brokers (paper 004): Chord finds who is responsible, a Hilbert curve says for what."""
