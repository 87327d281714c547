"""Jobs over a log that nodes share in Kafka; what imports this needs its client."""
