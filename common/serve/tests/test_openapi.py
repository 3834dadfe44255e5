#!/usr/bin/env python3
"""test_openapi.py: /openapi.json describes the router's routes, all of them and no others.

check_openapi.py lets schemathesis find requests that break the description.
"""
# servelab-test: waits
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import TOP, FakeServer, equal, run_tests  # noqa: E402


def routes_of_the_router():
    with open(os.path.join(TOP, "common/serve/http_router.c")) as f:
        table = re.search(r"routes\[\] = \{(.*?)\n\};", f.read(), re.S)[1]
    rows = re.findall(r'\{"(GET|POST)", "([^"]*)"(, "[^"]*")?([^{]*)', table)
    found = set()
    for method, path, more, rest in rows:
        variable = ".variable = true" in rest or more
        name = "{file}" if path == "/" else "{id}"
        found.add((method, path + (name if variable else "") + more[3:-1]))
    assert len(found) == len(rows) > 10, found
    return found


def every_route_is_described():
    described = {(method.upper(), path) for path, methods in DOC["paths"].items() for method in methods}
    equal(described, routes_of_the_router())


def every_reference_leads_somewhere():
    text = json.dumps(DOC)
    for ref in set(re.findall(r'"\$ref": "#/([^"]*)"', text)):
        at = DOC
        for part in ref.split("/"):
            at = at[part]
    assert "@" not in text, "a mark was not replaced"


def the_model_is_this_servers():
    equal(DOC["components"]["schemas"]["Chat"]["properties"]["model"]["enum"], [S.model])
    equal(DOC["info"]["version"], S.get("/version").json()["version"])


def statuses_of_each_route_are_described():
    """The errors that a route is known to give are in its description."""
    for method, path, body, status in (("post", "/v1/completions", {"model": "fake", "prompt": ""}, 400),
                                       ("post", "/v1/completions", {"model": "other", "prompt": "x"}, 404),
                                       ("post", "/tokenize", {}, 400), ("post", "/detokenize", {"tokens": ["x"]}, 400),
                                       ("get", "/v1/records/{id}", None, 404), ("get", "/v1/models/{id}", None, 404)):
        r = S.request(method.upper(), path.replace("{id}", "nobody"), body)
        equal(r.status, status, f"{method} {path}")
        assert str(status) in DOC["paths"][path][method]["responses"], (path, status)


with FakeServer() as S:
    DOC = S.get("/openapi.json").json()
    failed = run_tests([every_route_is_described, every_reference_leads_somewhere, the_model_is_this_servers,
                        statuses_of_each_route_are_described])
sys.exit(failed)
