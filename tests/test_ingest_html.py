"""Pages become Markdown whatever state they are in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.ingest.html import declared_charset, html_to_markdown

PAGE = """<!DOCTYPE html><html><head><title>Caf&eacute; &amp; more</title><style>p { color: red }</style>
<script>document.write("<p>no</p>")</script></head><body>
<nav><ul><li><a href=/>Home</a></ul></nav>
<h1 id=top>Caf&eacute;<a class=headerlink href=#top>¶</a></h1>
<p>One <b>two</b>
   three<br>four <code>x  = 1</code><p>An <a href="/x">open</a> paragraph
<ul><li>a<li>b<ul><li>c</ul><li><p>d<p>e</ul>
<ol><li>first</li><li>second</li></ol>
<pre><code class="language-python">def f():
    return "&lt;"
</code></pre>
<table><caption>Sizes</caption><thead><tr><th>A<th>B<tbody><tr><td>1<td>2 | 3<tr><td>only</table>
<blockquote><p>q1<p>q2</blockquote><p># no heading</p><img src=x alt="A picture">
<footer>Copyright</footer></body></html>"""

MARKDOWN = """# Café

One two three
four `x = 1`

An open paragraph

- a
- b
  - c
- d
  
  e

1. first
2. second

```python
def f():
    return "<"
```

Sizes

| A | B |
| --- | --- |
| 1 | 2 \\| 3 |
| only |  |

> q1
>
> q2

\\# no heading

A picture
"""  # noqa: W293


def test_a_whole_page() -> None:
    assert html_to_markdown(PAGE) == (MARKDOWN, "Café & more")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", ""),
        ("a < b && c > d &copy; &#xD800;", "a < b && c > d © \ufffd\n"),
        ("<p>a<b><p>c</b>d", "a\n\ncd\n"),
        ("</p></div>x", "x\n"),
        ("<div>one<div>two</div>three</div>", "one\n\ntwo\n\nthree\n"),
        ("<table><tr><td><h2>Layout</h2><td><p>cell</table>", "## Layout\n\ncell\n"),
        ("<table>stray<tr>text<td>x</table>", "stray\n\n| text | x |\n| --- | --- |\n"),
        ("<ul>loose<ul><li>x</ul></ul>", "- loose\n- - x\n"),
        ("<a href=x><h3>In a link</h3></a>", "### In a link\n"),
        ('<a title="a > b">x</a>', "x\n"),
        ("<a title='never closed>x</a> <b>y</b>", "x y\n"),
        ("<pre>a\n\n  ```\n</pre>", "````\na\n\n  ```\n````\n"),
        ("x<!-- <p>no</p> -->y", "xy\n"),
        ("<SCRIPT>a</Script >b", "b\n"),
        ("<svg><title>no</title></svg><p>yes", "yes\n"),
    ],
)
def test_small_and_broken_pages(source: str, text: str) -> None:
    assert html_to_markdown(source)[0] == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<nav>menu</nav><div role=navigation>more</div><p>text<footer>legal</footer>", "text\n"),
        ("<div>menu</div><main><p>text</main><div>ads</div>", "text\n"),
        ("<article><p>text</p><footer>by me</footer></article>", "text\n\nby me\n"),
        ("<nav><p>all in a menu that is never closed", "all in a menu that is never closed\n"),
        ("<nav><p>only a menu</nav>", "only a menu\n"),
        ("<main></main><p>outside", "outside\n"),
        ("<title>never closed<p>text", "never closed\n\ntext\n"),
    ],
)
def test_chrome_goes_where_there_is_something_else(source: str, text: str) -> None:
    assert html_to_markdown(source)[0] == text


@pytest.mark.parametrize(
    ("source", "title"),
    [("<title> A\n B </title><h1>C</h1>", "A B"), ("<title></title><h1>The <code>x</code></h1>", "The x"), ("<h2>no</h2>", None)],
)
def test_titles(source: str, title: str | None) -> None:
    assert html_to_markdown(source)[1] == title


@pytest.mark.parametrize(
    ("head", "charset"),
    [
        (b'<meta charset="Shift_JIS">', "Shift_JIS"),
        (b"<META http-equiv=Content-Type content='text/html; charset=koi8-r'>", "koi8-r"),
        (b'<?xml version="1.0" encoding="iso-8859-2"?>', "iso-8859-2"),
        (b"<p>charset=none", None),
    ],
)
def test_declared_charset(head: bytes, charset: str | None) -> None:
    assert declared_charset(head) == charset


@pytest.mark.parametrize(
    "piece",
    ["<", "<!--", "<a ", "</", "<div>", "&", "<![", "<?", "<ul><li>x", "<table><tr><td>", "<a x='", "<script>", "<title>", "<b>", "<p <"],
)
def test_time_grows_no_faster_than_the_page(piece: str) -> None:
    # Each of these, 10,000 times over, takes long or for ever where every repetition looks at all that follow.
    html_to_markdown(piece * 10_000)


words = st.text("abcxyz", min_size=1, max_size=8)
tags = st.sampled_from(
    [
        "p",
        "div",
        "span",
        "b",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "th",
        "h1",
        "pre",
        "blockquote",
        "a",
        "section",
        "code",
        "dl",
        "dt",
        "dd",
        "x-y",
    ]
)
tokens = st.one_of(words, tags.map("<{}>".format), tags.map("</{}>".format), st.sampled_from(["<br>", "<!-- c -->", " ", "\n"]))


@given(st.lists(tokens, max_size=40))
def test_no_word_is_lost(parts: list[str]) -> None:
    written = "".join(part for part in parts if not part.startswith("<") and part.strip())
    text, _ = html_to_markdown("".join(parts))
    assert "".join(character for character in text if character in "abcxyz") == written
