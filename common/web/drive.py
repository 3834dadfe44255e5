#!/usr/bin/env python3
"""drive.py: sends one request from the classroom page in a real browser, by keyboard, and keeps the record.

  python3 common/web/drive.py --url http://127.0.0.1:8000/ --out record.json

Offers ClassroomPage (the page's parts by name, for the demo and the tests) and a command line with visible progress.
Exit status: 0 the record is kept, of a failed request too; 1 the page ended without a record; 2 bad usage, or no server;
5 there is no browser (the caller may use the built-in client instead).
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from webdriver import Browser, BrowserMissing

NO_BROWSER = 5


class ClassroomPage:
    def __init__(self, browser, url):
        self.browser = browser
        browser.open(url)
        browser.wait(  # also for the worker that sends: its files come from the server, and then it says its clock's step
            "return document.body.dataset.state === 'idle' && document.querySelector('#presets input') !== null"
            " && document.getElementById('step').textContent !== '…'"
        )

    def presets(self):
        return self.browser.script("return [...document.querySelectorAll('#presets input')].map((i) => i.value)")

    def chosen(self):
        return self.browser.script("return document.querySelector('#presets input:checked').value")

    def focused(self):
        return self.browser.script(
            "return document.activeElement.id || document.activeElement.value || document.activeElement.tagName"
        )

    def focus(self, wanted):
        """Tabs on until the element with this id, or the chosen prepared prompt, has the focus."""
        for _ in range(20):
            if self.focused() == wanted:
                return
            self.browser.press("tab")
        raise LookupError(f"twenty tabs don't reach {wanted}")

    def pick(self, name):
        """Chooses a prepared prompt with the arrow keys."""
        self.focus(self.chosen())
        for _ in self.presets():
            if self.chosen() == name:
                return
            self.browser.press("right")
        raise LookupError(f"the page has no prepared prompt {name}; it has {', '.join(self.presets())}")

    def set(self, element, value):
        """Fills a field as typing does, without the hours that 2,048 tokens would take."""
        self.browser.script(
            "const f = document.getElementById(args[0]); f.value = args[1];"
            "f.dispatchEvent(new Event('input', {bubbles: true}))",
            element,
            str(value),
        )

    def send(self):
        self.focus("send")
        self.browser.press("enter")

    def text(self, element):
        return self.browser.script("return document.getElementById(args[0]).textContent", element)

    def state(self):
        return self.browser.script("return document.body.dataset.state")

    def finish(self, timeout_s=600, between=None):
        """Waits for the end of the request and of its record; returns the state: finished, failed or cancelled."""
        self.browser.wait("return document.body.dataset.settled === 'yes'", timeout_s, between=between)
        return self.state()

    def download(self, folder, timeout_s=60, button="download"):
        """Presses a download button; returns the path of the file, or None when there is no button."""
        if self.browser.script("return document.getElementById(args[0]).hidden", button):
            return None
        self.browser.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        name = self.browser.script("return document.getElementById(args[0]).download", button)
        self.focus(button)
        self.browser.press("enter")
        until = time.monotonic() + timeout_s
        path = Path(folder) / name
        while not path.exists() or path.stat().st_size == 0:
            if time.monotonic() > until:
                raise TimeoutError(f"{name} wasn't there {timeout_s} s after the button was pressed")
            time.sleep(0.05)
        return path


class Progress:
    """What the page says while it waits, on one line of a terminal, or every two seconds elsewhere."""

    def __init__(self, page, out=sys.stderr):
        self.page, self.out, self.last_s = page, out, 0.0

    def __call__(self):
        every_s = 0.2 if self.out.isatty() else 2.0
        if time.monotonic() - self.last_s < every_s:
            return
        self.last_s = time.monotonic()
        line = f"  {self.page.text('elapsed'):>8}  {self.page.text('status')}"
        print(
            f"\r\033[K{line}" if self.out.isatty() else line,
            end="" if self.out.isatty() else "\n",
            file=self.out,
            flush=True,
        )

    def end(self):
        if self.out.isatty():
            print("\r\033[K", end="", file=self.out, flush=True)


def ask(args):
    width, height = map(int, args.size.split("x"))
    with Browser(width, height) as browser:
        print(f"  Chromium {browser.version}, a fresh profile, {width}x{height}", file=sys.stderr)
        page = ClassroomPage(browser, args.url)
        if args.prompt_file:
            page.set("prompt", Path(args.prompt_file).read_text(encoding="utf-8"))
        elif args.preset:
            page.pick(args.preset)
        if args.max_tokens:
            page.set("max", args.max_tokens)
        page.send()
        progress = Progress(page)
        state = page.finish(args.timeout, progress)
        progress.end()
        if args.picture:
            browser.picture(args.picture)
        return keep(page, state, args)


def keep(page, state, args):
    if state != "finished":
        print(f"  the page ended {state}: {page.text('problem') or page.text('status')}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        file = page.download(folder)
        if file is None:
            print("  and has no record of the request", file=sys.stderr)
            return 1
        shutil.move(file, args.out)
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.splitlines()[2])
    p.add_argument("--url", required=True, help="the page, http://127.0.0.1:PORT/")
    p.add_argument("--out", required=True, help="the file for the record")
    p.add_argument("--preset", help="name of a prepared prompt (default: the page's first)")
    p.add_argument("--prompt-file", help="the prompt's text, from a file, instead")
    p.add_argument("--max-tokens", type=int, help="output tokens at most")
    p.add_argument("--picture", help="also keep a PNG of the finished page here")
    p.add_argument("--size", default="1920x1080", help="window, WIDTHxHEIGHT (default 1920x1080)")
    p.add_argument("--timeout", type=float, default=600, help="seconds until giving up (default 600)")
    args = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that the browser is closed, too
    try:
        return ask(args)
    except BrowserMissing as e:
        print(f"  no browser: {e}", file=sys.stderr)
        return NO_BROWSER
    except (LookupError, OSError) as e:  # TimeoutError is an OSError
        print(f"drive.py: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
