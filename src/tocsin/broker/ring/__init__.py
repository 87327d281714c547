"""This node in a ring of brokers that act as one (paper 004)."""
