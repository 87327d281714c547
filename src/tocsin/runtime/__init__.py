"""Runs machines: a queue, turns that are written in one transaction, timers, questions, and lanes to other nodes."""
