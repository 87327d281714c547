"""The topics there are, and the publishers that registered for them."""
