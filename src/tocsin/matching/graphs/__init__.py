"""Events as RDF graphs against subscriptions as graph patterns (OPS s5.1), many at once."""
