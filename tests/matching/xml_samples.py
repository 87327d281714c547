"""Random documents, and random expressions of the XPath that conditions can say."""

from hypothesis import strategies as st

NAMESPACES = {"p": "urn:p", "q": "urn:q"}
# None ends in a digit before another that begins with `e`: libxml2 would read an exponent, which XPath 1.0 has not.
TEXTS = ("5", " 5 ", "+5", "", "NaN", "-.5", "-5", "5.", "0", "-0", ".", "- 5", "x", "ü", "\N{GRINNING FACE}", "\xa05")
LONG_TEXTS = (" " * 300, "x" * 300, "0" * 300, "\n5" + " " * 300)
NAMES = ("a", "b", "p:a", "q:a", "ü", "p:ü")
BETWEEN = ("<!--5-->", "<?a 5?>", "<![CDATA[5]]>", "&#53;", "&amp;")
ATTRIBUTES = ("x", "p:x", "y")

texts = st.sampled_from(TEXTS) | st.sampled_from(LONG_TEXTS)
attributes = st.dictionaries(st.sampled_from(ATTRIBUTES), st.sampled_from(TEXTS), max_size=2)


@st.composite
def _element(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    name = draw(st.sampled_from(NAMES))
    written = "".join(f' {each}="{value}"' for each, value in draw(attributes).items())
    content = "".join(draw(st.lists(inner, max_size=4)))
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


_parts = st.recursive(texts | st.sampled_from(BETWEEN), _element, max_leaves=12)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    name, content = draw(st.sampled_from(NAMES)), "".join(draw(st.lists(_element(_parts) | _parts, max_size=4)))
    beside, written = draw(st.sampled_from(("", "<!--a-->", "<?a?>"))), draw(st.sampled_from(("", ' x="5"')))
    declared = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
    return f"{beside}<{name}{declared}{written}>{content}</{name}>{beside}".encode()


names = st.sampled_from((*NAMES, "*", "p:*"))
attribute_names = st.sampled_from(ATTRIBUTES).map("@{}".format)
comparators = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
constants = st.sampled_from(TEXTS).map("'{}'".format) | st.sampled_from(("5", "-5", "0", "- -.5", "-0", "1000", "05.0"))


def _compared(paths: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("{} {}{}".format, paths, comparators, constants) | st.builds(
        "{}{} {}".format, constants, comparators, paths
    )


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{} and {}".format, inner, inner),
        st.builds("{} or {}".format, inner, inner),
        st.builds("({})".format, inner),
        st.builds("not({})".format, inner),
        st.builds("boolean( {} )".format, inner),
    )


def _conditions(paths: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(paths | _compared(paths) | st.sampled_from(("true()", "false( )")), _joined, max_leaves=4)


_predicates = _conditions(attribute_names).map("[{}]".format)


@st.composite
def paths(draw: st.DrawFn) -> str:
    """A `//` before an attribute or text makes two paths of one, and is written elsewhere."""
    steps = draw(st.lists(names, min_size=1, max_size=4))
    written = draw(st.sampled_from(("", "/", "//", "./", ".//"))) + steps[0]
    for step in steps[1:]:
        written += draw(st.sampled_from(("/", "//", "/./"))) + step
    written += "".join(draw(st.lists(_predicates, max_size=1)))
    return written + draw(st.sampled_from(("", "", "/.", "/text()", "/@x", "/@p:x")))


_others = st.sampled_from((".", "(/)", "/.", "@x", "text()", "//@x", ".//text()", "a//@p:x", "//a//text()", "a | b/@x"))
expressions = _conditions(paths() | _others)
