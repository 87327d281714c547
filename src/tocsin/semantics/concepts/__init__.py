"""The concept model: what ontologies say."""
