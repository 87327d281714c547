"""The concept model, and the ontologies it is made of."""
