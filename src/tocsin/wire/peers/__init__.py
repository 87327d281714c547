"""What the nodes of a ring say to each other over TCP: requests of which many are under way on one connection, answered
in any order, between nodes that have proven to each other that they have the ring's key."""
