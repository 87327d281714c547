"""Who wants a notification: one index a kind of filter, and the engine that combines them."""
