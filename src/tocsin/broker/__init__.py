"""The services that a node is composed of, its settings and its life cycle. It never imports `pipeline`."""
