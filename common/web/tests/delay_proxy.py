"""delay_proxy.py: a TCP proxy that makes a network slower: every byte is handed on a fixed time after it came.

Both directions wait half of the round trip, so that one question and its answer take the whole of it longer, however
many reads they come in. Opening a connection costs nothing more: the proxy itself accepts it.
"""

import queue
import socket
import threading
import time


class DelayProxy:
    def __init__(self, target_port, round_trip_s):
        self.target_port, self.one_way_s = target_port, round_trip_s / 2
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:  # stopped
                return
            server = socket.create_connection(("127.0.0.1", self.target_port))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pump(client, server)
            self._pump(server, client)

    def _pump(self, source, sink):
        waiting = queue.Queue()  # (when to hand on, bytes); b"" is the end
        threading.Thread(target=self._read, args=(source, waiting), daemon=True).start()
        threading.Thread(target=self._hand_on, args=(waiting, sink), daemon=True).start()

    def _read(self, source, waiting):
        data = b"."
        while data:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            waiting.put((time.monotonic() + self.one_way_s, data))

    def _hand_on(self, waiting, sink):
        while True:
            due, data = waiting.get()
            time.sleep(max(0, due - time.monotonic()))
            try:
                if not data:
                    return sink.shutdown(socket.SHUT_WR)
                sink.sendall(data)
            except OSError:
                return None

    def stop(self):
        self.listener.close()
