"""From the log to the senders: matching in the node, or by Spark through the outbox."""
