"""Elements that are hard to cut out of a message."""

from hypothesis import strategies as st

PREFIXES = st.sampled_from(["", "s:", "w:", "ns:", "p:", "q:"])
LOCALS = st.sampled_from(["a", "b", "Message", "MessageX", "s"])
NAMES = st.tuples(PREFIXES, LOCALS).map("".join)
SPACE = st.sampled_from([" ", "  ", "\n", "\r\n\t"])
ATOMS = [
    "p:x",
    "s:Body",
    "(w:a)",
    "child::ns:b",
    "xmlns:s",
    "xmlns:s='urn:no'",
    "1 > 0",
    ">",
    "/>",
    "</",
    "a'b",
    "x\r\ny",
]
ATOMS += [
    "&amp;",
    "&lt;w:a&gt;",
    "&#115;:a",
    "&#13;",
    "&#x3e;",
    "urn:s:1",
    "é",
    "日本",
    " ",
    "\t",
    "?>",
    "!",
    "]]",
    "w :a",
]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=3).map("".join).map(lambda text: text.replace("</", "&lt;/"))
ODDITIES = st.sampled_from(["<!-- p:c > -->", "<![CDATA[<w:a>]]>", "<?pi s:x?>", "<!--<s:Message>-->"])


def quoted(value: str) -> st.SearchStrategy[str]:
    value = value.replace("<", "&lt;")
    return st.sampled_from([f'"{value.replace(chr(34), "&quot;")}"', f"'{value.replace(chr(39), '&apos;')}'"])


VALUES = TEXTS | st.sampled_from([' xmlns:p="', " xmlns:p=", "''", '"', "x>y"])
PLAIN = st.tuples(st.sampled_from(["k", "p:k", "w:k", "l", "xml:lang"]), VALUES.flatmap(quoted))
URIS = st.sampled_from(["urn:own", "urn:outer-p", "urn:a'>b"])
DECLARING = st.tuples(st.sampled_from(["xmlns:p", "xmlns:q", "xmlns:s", "xmlns"]), URIS.flatmap(quoted))
EQUALS = st.sampled_from(["=", " = "])
ATTRIBUTES = st.tuples(SPACE, PLAIN | DECLARING, EQUALS).map(lambda each: each[0] + each[2].join(each[1]))


@st.composite
def elements(draw: st.DrawFn, depth: int = 0) -> str:
    name, attributes = draw(NAMES), "".join(draw(st.lists(ATTRIBUTES, max_size=3)))
    space = draw(st.sampled_from(["", " "]))
    if draw(st.booleans()):
        return f"<{name}{attributes}{space}/>"
    parts = draw(st.lists(TEXTS | (elements(depth + 1) if depth < 2 else TEXTS), max_size=3))
    if draw(st.integers(0, 5)) == 0:
        parts.append(draw(ODDITIES))
    return f"<{name}{attributes}{space}>{''.join(parts)}</{name}{space}>"
