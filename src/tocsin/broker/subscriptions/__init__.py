"""Who is told of what: leases, suspension, where in the log a subscription starts."""
