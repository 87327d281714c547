"""The values every other folder speaks of. No I/O, no clock, no randomness."""
