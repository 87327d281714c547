"""Services that ask and tell each other (paper 000 s2.1)."""
