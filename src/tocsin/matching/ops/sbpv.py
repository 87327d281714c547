"""State based partial verification, SBPV (OPS s5.5): cheap, and done while the tree grows.

A root that is not checked in the end means that there is no match (Theorem 2); one that is checked means nothing yet.
"""

from tocsin.matching.ops.matching_tree import Circle


def backtrack(circle: Circle) -> None:
    """Up from a solution from which no statement pattern could be derived, or whose children are all checked."""
    while True:
        circle.checked = True
        rectangle = circle.parent
        if rectangle is None or rectangle.checked:
            return
        rectangle.checked = True
        circle = rectangle.parent
        circle.unchecked_children -= 1
        if circle.unchecked_children:
            return
