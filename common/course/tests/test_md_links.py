"""test_md_links.py: every link of a committed Markdown page leads to a file that is there, and to a heading that is there.

`make docs` checks the pages that it renders; this checks all of them, those for maintainers too."""
import os, re, subprocess, sys, urllib.parse

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def pages():
    for place, folders, files in os.walk(TOP):
        folders[:] = [f for f in folders if f not in ("build", ".git")]
        yield from (os.path.join(place, f) for f in files if f.endswith(".md"))


def without_code(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", open(path, encoding="utf-8").read(), flags=re.M | re.S)
    names, seen = set(), {}
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names.add(f"{name}-{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return names


def problems(path):
    for link in LINK.findall(without_code(open(path, encoding="utf-8").read())):
        url = urllib.parse.urlsplit(link)
        if url.scheme or url.netloc:
            continue
        target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(url.path))) if url.path else path
        if not os.path.exists(target):
            yield f"{link}: there is no such file"
        elif url.fragment and target.endswith(".md") and url.fragment not in anchors(target):
            yield f"{link}: there is no such heading"


def main():
    failed = n = 0
    for path in sorted(pages()):
        n += 1
        wrong = list(problems(path))
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {n} - {os.path.relpath(path, TOP)}{': ' + '; '.join(wrong) if wrong else ''}")
    print(f"1..{n}")
    return 1 if failed or n < 5 else 0


sys.exit(main())
