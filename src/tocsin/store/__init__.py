"""What is kept: the log, the database beside it, the outbox."""
