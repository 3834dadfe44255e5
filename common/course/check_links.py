"""check_links.py PAGE...: reports links of HTML pages that lead nowhere.

Checks local files and the anchors in them, anchors within the page, reference links that were not resolved, images
without a description, and anchors given twice. Of a web address it checks the form only, so it needs no network.
Prints "PAGE: what is wrong" for each finding; exit status 1 when there is one.
"""

import html.parser
import os
import re
import sys
import urllib.parse

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.twice, self.refs, self.loads, self.problems = set(), [], [], [], []
        self.text, self.code = [], 0
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if a.get("id"):
            (self.twice.append(a["id"]) if a["id"] in self.ids else self.ids.add(a["id"]))
        if tag == "a" and "href" in a:
            self.refs.append(a["href"] or "")
        elif tag in ("img", "script", "link", "source") and (a.get("src") or a.get("href")):
            self.loads.append(a.get("src") or a.get("href"))
        if tag == "img" and not a.get("alt"):
            self.problems.append("an image has no description (![description](file))")
        self.code += tag in ("code", "pre", "style", "script") and tag not in VOID

    def handle_endtag(self, tag):
        self.code -= tag in ("code", "pre", "style", "script")

    def handle_data(self, data):
        if not self.code:
            self.text.append(data)


def page_of(path, pages):
    path = os.path.realpath(path)
    if path not in pages:
        pages[path] = Page(path)
    return pages[path]


def check_reference(path, ref, pages):
    """What is wrong with a link, or None."""
    url = urllib.parse.urlsplit(ref)
    if url.scheme in ("http", "https"):
        return None if url.netloc and " " not in ref else f"{ref}: not a web address"
    if url.scheme == "mailto":
        return None
    if url.scheme or url.netloc or url.path.startswith("/"):
        return f"{ref}: leads out of the tree"
    if not ref:
        return "a link leads nowhere"
    target = path
    if url.path:
        target = os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path))
        if not os.path.exists(target):
            return f"{ref}: there is no such file"
    anchor = urllib.parse.unquote(url.fragment)
    if anchor and target.endswith(".html") and anchor not in page_of(target, pages).ids:
        return f"{ref}: there is no such section"
    return None


def check_page(path, pages):
    page = page_of(path, pages)
    found = list(page.problems)
    found += [f"the anchor #{name} is there twice" for name in page.twice]
    found += [problem for ref in page.refs if (problem := check_reference(path, ref, pages))]
    found += [f"{ref[:80]}: is loaded from outside of the page" for ref in page.loads if not ref.startswith("data:")]
    found += [f"a reference without a target: {m}" for m in
              re.findall(r"\[[^\][]*\](?:\[[^\][]*\]|\([^)]*\))", "".join(page.text))]
    return found


def main(paths):
    pages, n = {}, 0
    for path in paths:
        for problem in check_page(path, pages):
            print(f"{path}: {problem}", file=sys.stderr)
            n += 1
    return 1 if n else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
