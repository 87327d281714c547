"""Workloads by a seed: subscriptions with notifications, and graph patterns with event graphs."""
