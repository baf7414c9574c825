"""Whether a built site is whole: every address on a page leads to a file and a place in it, none leads elsewhere."""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

# Not the coloured words of native text: most tags of a site, with nothing in them that leads anywhere.
TAG = re.compile(
    r"""<(?!span class=[\w"]+>)([a-z][\w-]*)((?:\s+[^\s=>"'/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>"']+))?)+)\s*/?>""",
    re.IGNORECASE,
)
ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""")
LOADING = {"script", "img", "link", "iframe", "source", "video", "audio", "object", "embed", "use", "image"}
SCRIPT_BODY = re.compile(r"(<script\b[^>]*>).*?</script>", re.DOTALL)


class Page(msgspec.Struct):
    """What one page points at, what can be pointed at in it, and what it makes a browser load."""

    addresses: set[str]
    places: set[str]
    loaded: set[str]


def broken_links(site: Path) -> list[str]:
    """One sentence per address that leads nowhere, and per thing a page would load from another host."""
    pages = {path.relative_to(site).as_posix(): read_page(path) for path in sorted(site.rglob("*.html"))}
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    problems = []
    for name, page in pages.items():
        problems += [f"{name} loads {address}" for address in sorted(page.loaded) if urlsplit(address).netloc]
        for address in sorted(page.addresses):
            problem = _problem(name, address, files, pages)
            if problem:
                problems.append(f"{name}: {address} {problem}")
    return problems


def read_page(path: Path) -> Page:
    """The attributes that matter of every tag; what scripts say is not looked at."""
    page = Page(addresses=set(), places=set(), loaded=set())
    text = SCRIPT_BODY.sub(r"\1</script>", path.read_text(encoding="utf-8"))
    for tag, attributes in TAG.findall(text):
        for name, *values in ATTRIBUTE.findall(attributes):
            if name in ("id", "name"):
                page.places.add(html.unescape("".join(values)))
            elif name in ("href", "src", "data"):
                address = html.unescape("".join(values))
                page.addresses.add(address)
                if tag.lower() in LOADING:
                    page.loaded.add(address)
    return page


# Schemes that a page may hand to a reader; anything else, javascript: among them, runs or opens what nobody looked at.
OUTWARD = {"http", "https", "mailto"}


def _problem(name: str, address: str, files: set[str], pages: dict[str, Page]) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        own = parts.scheme in ("", *OUTWARD) or address.startswith("data:image/")
        return "" if own else f"is of the scheme {parts.scheme}, which no page may use"
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
    target = next((found for found in (target, posixpath.normpath(f"{target}/index.html")) if found in files), "")
    if not target:
        return "leads to no file"
    fragment = unquote(parts.fragment)
    if "=" in fragment:  # what a page is asked to load: #a=one&b=other
        folder = target.removesuffix(".html")
        unknown = [value for _, value in parse_qsl(fragment) if f"{folder}/{value}.js" not in files]
        return f"asks {target} for {unknown[0]}, which is not there" if unknown else ""
    if fragment and target in pages and fragment not in pages[target].places:
        return f"names no place in {target}"
    return ""
