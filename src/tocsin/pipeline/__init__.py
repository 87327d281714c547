"""The data pipeline on Spark: from the log to tables and the outbox. Nothing of it is needed to run a node."""
