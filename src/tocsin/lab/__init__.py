"""Benchmarks with their rivals, and the papers' experiments."""
