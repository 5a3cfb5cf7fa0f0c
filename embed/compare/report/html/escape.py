"""HTML in which what people wrote can do no harm: text is escaped unless it is said to be HTML."""

import html
import re
from collections.abc import Iterable, Sequence

from corpora.artifacts.figures import drawable

MINUS = "−"


class Html(str):
    """Text that is HTML already, made by :func:`tag` and :func:`join`."""

    __slots__ = ()


Child = str | int | None


def escape(text: str) -> Html:
    """Make any text harmless in HTML and in attributes.

    Parameters
    ----------
    text : str
        Names of files, words of other people's sets.

    Returns
    -------
    Html
        Control characters and halves of characters are U+FFFD, white space is spaces.

    Examples
    --------
    >>> escape('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    return Html(html.escape(drawable(text)))


def tag(name: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """Make an element.

    Parameters
    ----------
    name : str
        Of the element.
    *children : str, int or None
        What is in it: :class:`Html` as it is, other text escaped, None nothing.
    **attributes : str, int, bool or None
        ``class_`` gives ``class`` and ``aria_label`` gives ``aria-label``; True stands alone, and
        False and None are left out.

    Returns
    -------
    Html
        With an end tag, but for elements that have none.

    Examples
    --------
    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in ("meta", "img", "input"):
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[Child], between: str = "") -> Html:
    """Put elements and texts one after another.

    Parameters
    ----------
    children : iterable of str, int or None
        As :func:`tag` takes them.
    between : str
        What stands between them, escaped.

    Returns
    -------
    Html
        All of them.
    """
    parts = [_text(child) for child in children if child is not None]
    return Html(escape(between).join(parts))


def name(text: str, **attributes: str | None) -> Html:
    """Show a word or the name of a run, whose direction of writing touches nothing around it.

    Parameters
    ----------
    text : str
        Of any script.
    **attributes : str or None
        Of the element.

    Returns
    -------
    Html
        A ``bdi`` element.
    """
    return tag("bdi", text, **attributes)


def table(
    caption: Child, head: Sequence[Child], rows: Iterable[Html], **attributes: str | bool | None
) -> Html:
    """Make a table that scrolls in a box of its own where it is too wide.

    Parameters
    ----------
    caption : str or Html
        What it shows.
    head : sequence of str or Html
        Headings of the columns.
    rows : iterable of Html
        ``tr`` elements.
    **attributes : str, bool or None
        Of the table.

    Returns
    -------
    Html
        The box can be reached and scrolled by keyboard.
    """
    heads = tag("tr", *(tag("th", each, scope="col") for each in head))
    made = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", heads),
        tag("tbody", join(rows, "\n")),
        **attributes,
    )
    return tag("div", made, class_="box", tabindex=0, role="group", aria_label=_plain(caption))


def fold(summary: Child, *inside: Child, opened: bool = False) -> Html:
    """Make a part that a click on its first line opens.

    Parameters
    ----------
    summary : str or Html
        The line.
    *inside : str or Html
        The rest.
    opened : bool
        Whether it is open at first.

    Returns
    -------
    Html
        Open wherever it is printed.
    """
    return tag("details", tag("summary", summary), *inside, open=opened)


def section(anchor: str, heading: str, *inside: Child) -> Html:
    """Make a section of the page.

    Parameters
    ----------
    anchor : str
        What links call it.
    heading : str
        Its heading, of the second rank.
    *inside : str or Html
        The rest.

    Returns
    -------
    Html
        Named by its heading.
    """
    title = tag("h2", heading, id=f"{anchor}-heading")
    return tag("section", title, *inside, id=anchor, aria_labelledby=f"{anchor}-heading")


def decimal(number: float, digits: int = 3, *, signed: bool = False) -> str:
    """Write a number for people.

    Parameters
    ----------
    number : float
        Finite.
    digits : int
        After the point.
    signed : bool
        Write a plus, too.

    Returns
    -------
    str
        With a true minus sign, and no minus before zero.

    Examples
    --------
    >>> decimal(-0.5), decimal(-0.0001), decimal(0.25, 2, signed=True)
    ('−0.500', '0.000', '+0.25')
    """
    text = f"{round(number, digits) + 0.0:{'+' if signed else ''}.{digits}f}"
    return text.replace("-", MINUS)


def chance(p: float | None) -> str:
    """Write a p-value.

    Parameters
    ----------
    p : float or None
        From 0 to 1; None where no test can tell.

    Returns
    -------
    str
        Such as ``p = 0.032``.
    """
    if p is None:
        return "no test"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _text(child: str | int | bool) -> str:
    """A child or the value of an attribute as HTML."""
    return child if isinstance(child, Html) else escape(str(child))


def _plain(caption: Child) -> Html | str:
    """A caption as the value of an attribute: without its tags."""
    text = str(caption)
    return Html(re.sub(r"<[^>]*>", "", text)) if isinstance(caption, Html) else text
