"""Matching of event graphs (RDF) against many graph patterns at once (OPS s5.1)."""
