"""test_verdict.py: the server's verdict on an answer, through the real model: a right answer passes, the answer to a
question about another key fails, and a request without a check isn't evaluated. Prints TAP."""

# servelab-test: waits
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

SERVELAB = os.environ.get("SERVELAB", "build/bin/servelab")
count = 0
failed = False


def ok(good, name, more=""):
    global count, failed
    count += 1
    failed |= not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}{' (' + str(more) + ')' if not good else ''}", flush=True)


class Server:
    def __enter__(self):
        self.process = subprocess.Popen([SERVELAB, "serve", "--port", "0"], stderr=subprocess.PIPE, text=True)
        printed = []
        for line in self.process.stderr:  # until the server is ready, or has ended
            printed.append(line)
            ready = re.search(r"is ready at (http://[^/]+)/", line)
            if ready:
                self.url = ready.group(1)
                return self
        sys.exit("the server ended: " + "".join(printed))

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def get(self, path):
        return json.load(urllib.request.urlopen(self.url + path, timeout=300))

    def ask(self, request_id, prompt, check=None, stream=False):
        """The answer's text and the server's half of the record."""
        headers = {"X-Request-Id": request_id, "Content-Type": "application/json"}
        if check:
            headers["X-Quality-Check"] = check
        body = {"model": "servelab-tiny", "messages": [{"role": "user", "content": prompt}], "max_tokens": 256,
                "stream": stream}
        r = urllib.request.Request(self.url + "/v1/chat/completions", json.dumps(body).encode(), headers)
        text = urllib.request.urlopen(r, timeout=300).read().decode()
        return text, self.get("/v1/records/" + request_id)


def first_that_passes(server, check):
    """A model that is right nineteen times in twenty may be wrong once; three questions in a row it isn't."""
    for seed in (1, 2, 3):
        preset = next(p for p in server.get(f"/v1/presets?seed={seed}")["presets"] if p["check"] == check)
        text, record = server.ask(f"{check.split('/')[0]}-{seed}", preset["prompt"], preset["name"], seed % 2 == 0)
        if record["quality"] == {"check": check, "verdict": "passed"}:
            return preset, text, record
    return preset, text, record


def main():
    with Server() as server:
        for check in ("key-recall/1", "sum/1", "tool-call/1", "key-count/1"):
            preset, text, record = first_that_passes(server, check)
            ok(record["quality"] == {"check": check, "verdict": "passed"}, f"{check}: a right answer passes", record["quality"])
            ok(record["workload"]["prompt_tokens"] == 2048, f"{check}: the prompt has 2,048 tokens", record["workload"])
            if check == "tool-call/1":
                ok(record["structure"] == {"check": check, "verdict": "passed"}, "a tool call's structure passes too",
                   record["structure"])
            if check == "key-recall/1":
                recall = preset
        prompt = recall["prompt"]
        asked = prompt[-4:]
        others = [(k, v) for k, v in re.findall(r"^key (\w{4}) (\d{4})$", prompt, re.M) if k != asked]
        text, record = server.ask("another-key", prompt[:-4] + others[0][0], recall["name"])
        ok(record["quality"] == {"check": "key-recall/1", "verdict": "failed"}, "another key asked for gives failed",
           (record["quality"], text))
        text, record = server.ask("no-check", "12+30=")
        ok(record["quality"] == {"check": None, "verdict": "not_evaluated"}, "without a check it is not evaluated",
           record["quality"])
        names = {w: [p["name"] for p in server.get(f"/v1/presets?seed=3&wording={w}")["presets"]] for w in ("grammar", "plain")}
        ok(names["grammar"] == [p["name"] for p in server.get("/v1/presets?seed=3")["presets"]],
           "the embedded model is offered its own grammar", names)
        ok(names["plain"] == ["plain-recall/1:3", "plain-sum/1:3", "plain-pair/1:3"], "the others are offered when asked for",
           names)
        plain = server.get("/v1/presets?seed=3&wording=plain")["presets"][0]
        text, record = server.ask("in-english", plain["prompt"], plain["name"])
        ok(record["quality"] == {"check": "plain-recall/1", "verdict": "failed"} and record["workload"]["prompt_tokens"] == 2048,
           "a plain question is judged: the embedded model knows no English", (record["quality"], text))
        try:
            server.get("/v1/presets?wording=latin")
            ok(False, "an unknown wording is refused")
        except urllib.error.HTTPError as e:
            ok(e.code == 400 and json.load(e)["error"]["param"] == "wording", "an unknown wording is refused")
        for bad in ("key-recall/2:1", "key-recall/1", "key-recall/1:x", "sum/1:99999999999"):
            try:
                server.ask("bad", "12+30=", bad)
                ok(False, f"X-Quality-Check {bad} is refused")
            except urllib.error.HTTPError as e:
                error = json.load(e)["error"]
                ok(e.code == 400 and error["param"] == "X-Quality-Check", f"X-Quality-Check {bad} is refused", error)
    print(f"1..{count}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
