"""plant.py: puts a mistake into a file's text by its statements, for the tests that grade mistakes."""


def plant(text, old, new, count=-1):
    """text with `new` in place of `old`. A text that no longer has `old` fails the test, which would else grade what is right."""
    assert old in text, f"there is no {old!r} to replace; it begins: {text[:200]!r}"
    return text.replace(old, new, count)
