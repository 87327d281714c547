"""The values all other folders use. No I/O, no clock, no randomness."""
