"""A node's part in a log that several share: what it proposes, what it forwards, and what it is to send."""
