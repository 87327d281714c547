"""Queues, retries and breakers: from a match to an answer, or to a dead letter."""
