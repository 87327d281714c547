"""Protocols as machines: `step(message, now)` answers with effects, and does nothing else."""
