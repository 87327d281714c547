"""The algorithms of the OPS paper and of its rival, to be read and counted; `matching.graphs` is what runs.

Where the paper leaves something open, it is read so:

- Identifiers are positions in the graphs, for a literal is a vertex of its own at each arc (s3.1).
- A vertex that asks for no class is of one above all others; of several classes that it asks for, the first goes into
  the meta-statements, and the others are tested together with its filter (s4, s5.2).
- "The same contents" (s5.4) do not include the names of variables.
- A statement pattern that matches several typed-statements of one pair of vertexes has one solution of them (s5.3).
- Rule 5 of BEBV (s5.5) is left out where a pattern is to be matched as SPARQL has it; and there is one more rule:
  vertexes that must have equal values contradict each other when they have not.
- "Once and only once" (s5.3) loses matches, so statements that have passed are offered to patterns that come later.
"""
