"""test_many_streams.py: the server with hundreds of streams at once: all are answered, and afterwards no batch position, KV
block, descriptor or connection is left. The backend computes nothing, so this is the server alone."""
# servelab-test: waits
import json, os, random, resource, socket, sys

from harness import RealServer, equal, run_tests, wait_until

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # this process needs a descriptor a stream; the usual limit is 1,024
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
STREAMS = min(1000, hard - 100)


def body(server, **more):
    return json.dumps({"model": server.model, "prompt": [40] * 64, "max_tokens": 20, "ignore_eos": True, "stream": True,
                       **more}).encode()


def ask(server, request):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=120)
    s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
              + b"Content-Length: %d\r\n\r\n" % len(request) + request)
    return s


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def idle(server, before):
    """The server is as it was before: waits for it, and says what is left when it never is."""
    last = {}

    def check():
        last.update(server.get("/health").json(), descriptors=descriptors(server))
        return (last["waiting"] == last["running"] == 0 and last["kv_blocks_free"] == last["kv_blocks"]
                and last["descriptors"] <= before)
    wait_until(check, f"an idle server with {before} descriptors; it has {last}")


def warm(server):
    server.complete([40] * 64, max_tokens=2, ignore_eos=True)
    return descriptors(server) + 1  # the connection that asks for /health


def a_thousand_streams_at_once():
    with RealServer("--backend", "none", "--max-waiting", "5000") as s:
        before = warm(s)
        open_streams = [ask(s, body(s)) for _ in range(STREAMS)]
        for i, stream in enumerate(open_streams):
            reply = b"".join(iter(lambda: stream.recv(1 << 16), b""))
            assert reply.endswith(b"0\r\n\r\n") and b"[DONE]" in reply and b'"finish_reason":"length"' in reply, (i, reply[-300:])
            stream.close()
        idle(s, before)


def clients_that_leave_at_random_moments():
    with RealServer("--backend", "none", "--pace", "llama-2-7b:h100", "--max-waiting", "5000", "--kv-blocks", "600") as s:
        before, chance = warm(s), random.Random(4)
        streams = [ask(s, body(s, max_tokens=400)) for _ in range(150)]
        for stream in streams:
            how = chance.randrange(4)
            if how == 1:
                stream.recv(1 + chance.randrange(4000))  # it leaves after it has read something
            if how == 2:
                stream.shutdown(socket.SHUT_WR)
            if how == 3:  # a reset
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            stream.close()
        idle(s, before)


def requests_that_are_refused_leave_nothing():
    with RealServer("--backend", "none", "--pace", "llama-2-7b:h100", "--max-waiting", "3", "--max-batch", "1",
                    "--kv-blocks", "40") as s:
        before = warm(s)
        streams = [ask(s, body(s, max_tokens=100)) for _ in range(40)]
        replies = [b"".join(iter(lambda c=c: c.recv(1 << 16), b"")) for c in streams]
        statuses = [r.split(b" ", 2)[1] for r in replies]
        equal(sorted(set(statuses)), [b"200", b"429"])
        assert all(b"retry-after:" in r.lower() for r in replies if b" 429 " in r[:20]), replies[statuses.index(b"429")][:400]
        r = s.complete([40] * 600, max_tokens=100)
        equal((r.status, r.error()["param"]), (400, "max_tokens"))
        for c in streams:
            c.close()
        idle(s, before)


TESTS = [a_thousand_streams_at_once, clients_that_leave_at_random_moments, requests_that_are_refused_leave_nothing]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
