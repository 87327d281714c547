"""The memory layout of the trie of steps, shared by the kernels and the code that builds it.

A node is four numbers: its step, its vertex predicate, what is below it, what is next to it. All nodes below one are a
chain, whose last one leads back up. Below is the first of a chain; or, where nothing follows, the one entry that ends
here, or a list of several: where it starts, how many they are, for how many there is room.
"""

STEP, PREDICATE, BELOW, NEXT = 0, 1, 2, 3
WIDTH = 4
INJECTIVE, PLAIN = 0, 1  # the two roots, for the two meanings of a match
ROOTS = 2

# A step: the position of the bound vertex it starts at, another position, the property; all but START have them.
SOURCE_SHIFT, OTHER_SHIFT = 24, 16
POSITION, PROPERTY = 0xFF, 0xFFFF
# A predicate, and the kind of the step above it.
KIND_SHIFT = 28
PREDICATE_MASK = (1 << KIND_SHIFT) - 1
START, NEW, EQUAL, CLOSE, LEAF, END = 0, 1, 2, 3, 4, 5
# Below, and next.
LAST = 0x8000_0000  # of a chain: the rest is the node above
ENTRY = 0x8000_0000  # nothing is below: the rest is an entry
LIST = 0xC000_0000  # nothing is below: the rest is a list of entries
RUN = 3  # numbers of a list
ENDS = 0x8000_0000
IS_LIST = 0x4000_0000
NUMBER = 0x3FFF_FFFF
NOTHING = 0xFFFF_FFFF  # below a root to which nobody came yet

MOST_PROPERTIES = PROPERTY

# The program of a predicate, in reverse Polish order over 0 (no), 1 (yes) and 2 (an error).
STOP, MARKED, NUMBERED, TEXT, TOLD, AND, OR, NOT = range(8)
ERROR = 2
ANY_KIND = 99  # of literals
STACK = 64  # so many values at once
ANY = 0  # the predicate that every vertex has
# The rows of an event's vertexes.
CLASSES, CONSTANT, KIND, TEXT_ID, VALUE_ID, TERM_ID = range(6)
# What stands for a node in the present event.
IS_DONE, IS_GONE, VISITS = 0x8000_0000, 0x4000_0000, 0x3FFF_FFFF
