"""A log that several nodes share: topics in Kafka, for changes, notifications, outcomes and what is to be sent."""
