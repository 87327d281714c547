"""Graph patterns and their two languages: the paper's (OPS s4) and SPARQL."""
