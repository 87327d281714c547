"""Finds the subscriptions that want a notification: an index for each kind of filter, and the engine over them."""
