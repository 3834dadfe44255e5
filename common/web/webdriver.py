"""webdriver.py: drives a real browser through the W3C WebDriver protocol, with Python's standard library alone.

Offers Browser (open a page, run scripts in it, press keys, take pictures) and BrowserMissing, whose text says what to
install. Refuses to be a general client: it knows chromedriver and Chromium (or Chrome), headless, with a fresh profile
in a temporary folder, and makes no network requests by itself. Its creator closes it; `with` does that.
"""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

BROWSERS = ("chromium", "google-chrome", "chromium-browser")
# --no-sandbox: Chromium refuses to run as root with it, and in many containers without; the page it opens is our own.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--disable-default-apps",
    "--disable-extensions",
)
START_TIMEOUT_S = 30
KEYS = {
    "tab": "\ue004",
    "enter": "\ue007",
    "escape": "\ue00c",
    "space": " ",
    "control": "\ue009",
    "shift": "\ue008",
    "right": "\ue014",
    "left": "\ue012",
    "down": "\ue015",
    "end": "\ue010",
}


class BrowserMissing(Exception):
    """No browser can be had; the text says what is missing and which command brings it."""


class ScriptError(Exception):
    """The browser refused a command; the text is the browser's."""


def find_browser():
    """Paths of the browser and its driver, or BrowserMissing."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if not browser or not driver:
        what = " and ".join(name for name, path in (("Chromium", browser), ("chromedriver", driver)) if not path)
        raise BrowserMissing(f"{what} not found; `apt-get install chromium chromium-driver` brings both")
    return browser, driver


class Browser:
    def __init__(self, width=1920, height=1080, flags=()):
        browser, driver = find_browser()
        self.profile = tempfile.mkdtemp(prefix="servelab-browser-")
        self.driver = subprocess.Popen(
            [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )  # its group dies with it: no browser is left behind
        self.session = None
        try:
            self.port = self._port()
            options = {
                "binary": browser,
                "args": [*FLAGS, f"--user-data-dir={self.profile}", f"--window-size={width},{height}", *flags],
            }
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = answer["sessionId"]
            self.version = answer["capabilities"]["browserVersion"]
            self.cdp(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
        except BaseException:
            self.close()
            raise

    def _port(self):
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                return int(found.group(1))
        raise BrowserMissing("chromedriver ended before it was ready; run `chromedriver --port=0` to see why")

    def _call(self, method, path, body=None, timeout_s=START_TIMEOUT_S):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            said = json.load(e)["value"]
            if said["error"] == "session not created":
                raise BrowserMissing(f"the browser didn't start: {said['message'].splitlines()[0]}") from None
            raise ScriptError(f"{said['error']}: {said['message'].splitlines()[0]}") from None

    def _do(self, method, path, body=None, **more):
        return self._call(method, f"/session/{self.session}{path}", body, **more)

    def cdp(self, command, **params):
        """A command of Chrome's own protocol."""
        return self._do("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def switch_to(self, target):
        """Later commands go to this window: the targetId that cdp("Target.createTarget") returned."""
        self._do("POST", "/window", {"handle": target})

    def open(self, url):
        self._do("POST", "/url", {"url": url})

    def script(self, text, *args):
        """Runs the body of an async function in the page and returns what it returns."""
        body = (
            f"const done = arguments[arguments.length - 1]; (async (...args) => {{ {text} }})(...arguments)"
            ".then((v) => done({v}), (e) => done({e: String(e)}))"
        )
        answer = self._do("POST", "/execute/async", {"script": body, "args": list(args)})
        if "e" in answer:
            raise ScriptError(answer["e"])
        return answer.get("v")

    def press(self, *keys, holding=()):
        """Presses keys one after the other, as a person would, wherever the focus is; names from KEYS or characters."""
        held = [KEYS[k] for k in holding]
        strokes = [{"type": "keyDown", "value": k} for k in held]
        for key in keys:
            value = KEYS.get(key, key)
            strokes += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        strokes += [{"type": "keyUp", "value": k} for k in held]
        self._do("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self._do("GET", "/screenshot")))

    def log(self):
        """What the page's console said since the last call."""
        return [entry["message"] for entry in self._do("POST", "/se/log", {"type": "browser"})]

    def wait(self, text, timeout_s=60, every_s=0.05, between=None):
        """Runs script `text` until it returns something true, and returns that. `between` is called in between."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            if value := self.script(text):
                return value
            if between:
                between()
            time.sleep(every_s)
        raise TimeoutError(f"{timeout_s} s passed without: {text}")

    def close(self):
        try:
            if self.session:
                self._do("DELETE", "", timeout_s=5)
        except Exception:  # the browser has ended already
            pass
        try:
            os.killpg(self.driver.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.driver.wait()
        self.driver.stdout.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()
