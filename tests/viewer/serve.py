#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Talks to `polygraphy view --serve` as browsers and as hostile programs do: serve.py CHECK MODEL [FILE...]

Prints one line for each thing that was tried. CHECK is the name of a function below that is not private."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

ALIVE_S = 20


class Server:
    """`polygraphy view --serve` on a port of its own."""

    def __init__(self, files, *options):
        words = ["polygraphy", "view", *files, "--serve", "--no-browser", *options]
        # Shells ignore SIGINT for programs in the background; a user's Ctrl-C is not ignored.
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line)
            match = re.search(r"http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/)", line)
            if match:
                self.port, self.root = int(match.group(1)), match.group(2)
                return
        raise SystemExit("no server: " + "".join(self.lines))

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=ALIVE_S)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=ALIVE_S)

    def ask(self, path, method="GET", host=None, extra=""):
        with self.connect() as s:
            s.sendall(f"{method} {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{self.port}'}\r\nConnection: close\r\n{extra}\r\n".encode())
            return _parts(_read_all(s))


def _read_all(s):
    data = b""
    while True:
        piece = s.recv(65536)
        if not piece:
            return data
        data += piece


def _parts(data):
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.decode(), body


def _send(server, data):
    """The status of the answer to these bytes; 0: the connection was closed without one."""
    with server.connect() as s:
        s.sendall(data)
        data = _read_all(s)
        return int(data.split()[1]) if data else 0


def answers(server):
    status, head, body = server.ask(server.root)
    print("page", status, "complete" if body.endswith(b"</html>\n") else "cut")
    for name in ("Content-Security-Policy: default-src 'none'", "frame-ancestors 'none'", "connect-src 'self'", "X-Content-Type-Options: nosniff",
                 "Cache-Control: no-store", "Referrer-Policy: no-referrer", "Cross-Origin-Resource-Policy: same-origin"):
        if name not in head:
            print("missing:", name)
    status, head, nothing = server.ask(server.root, "HEAD")
    print("head", status, "same size" if f"Content-Length: {len(body)}\r\n" in head else head, len(nothing))
    status, _, text = server.ask(server.root + "data/head")
    print("block", status, "served" if json.loads(text)["served"] else "not served")
    print("localhost", server.ask(server.root, host=f"LOCALHOST:{server.port}".lower())[0])


def refusals(server):
    root, port = server.root, server.port
    print("no token", server.ask("/")[0], server.ask("/favicon.ico")[0], server.ask(root[:-1])[0])
    wrong = root[:-2] + ("0" if root[-2] != "0" else "1") + "/"
    print("wrong token", server.ask(wrong)[0], server.ask(wrong + "data/head")[0])
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", f"127.0.0.1:{port}.evil.example", f"[::1]:{port}"):
        print("host", host.replace(str(port), "PORT").replace(str(port + 1), "OTHER"), server.ask(root, host=host)[0])
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PATCH", "get"):
        print(method, server.ask(root, method)[0])
    for path in ("../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "data/../head", "data/%2e%2e/head", "data//head", "data/", "x", "data/head%00"):
        print(path, server.ask(root + path)[0])
    print("absolute", server.ask("http://127.0.0.1/" + root)[0], server.ask("*")[0])


def hostile(server):
    own = f"Host: 127.0.0.1:{server.port}\r\n".encode()
    root = server.root.encode()
    print("oversize line", _send(server, b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n"))
    print("oversize header", _send(server, b"GET / HTTP/1.1\r\n" + own + b"A: " + b"b" * 9000))
    print("many headers", _send(server, b"GET / HTTP/1.1\r\n" + own + b"A: b\r\n" * 100 + b"\r\n"))
    print("body", _send(server, b"GET / HTTP/1.1\r\n" + own + b"Content-Length: 5\r\n\r\nhello"))
    print("smuggled", _send(server, b"GET / HTTP/1.1\r\n" + own + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
    print("bare line feeds", _send(server, b"GET / HTTP/1.1\n" + own + b"\n"))
    print("TLS", _send(server, bytes.fromhex("16030100a5010000a10303") + bytes(160) + b"\n"))
    print("zero bytes", _send(server, bytes(100) + b"\r\n\r\n"))
    print("HTTP/2", _send(server, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
    with server.connect() as s:
        s.sendall((b"GET " + root + b"data/head HTTP/1.1\r\n" + own + b"\r\n") * 2 + b"garbage\r\n\r\n")
        print("pipelined", [int(n) for n in re.findall(rb"HTTP/1\.1 (\d+) ", _read_all(s))])
    with server.connect() as s:
        s.sendall(b"GET ")
        s.shutdown(socket.SHUT_WR)
        print("half a request", _read_all(s))
    server.connect().close()
    print("still there", server.ask(server.root)[0])


def slow(server):
    """Clients that keep all places busy: with half a request, and with an answer that they do not take."""
    own = f"Host: 127.0.0.1:{server.port}\r\n".encode()
    held = [server.connect() for _ in range(40)]
    for s in held[:20]:
        s.sendall(b"GET / HT")
    for s in held[20:]:
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            s.sendall((b"GET " + server.root.encode() + b" HTTP/1.1\r\n" + own + b"\r\n") * 60)
        except OSError:
            pass  # its place was taken
    begin = time.monotonic()
    print("answered", server.ask(server.root)[0], "soon" if time.monotonic() - begin < 5 else "late")
    for s in held:
        s.close()


def timeout(server):
    with server.connect() as s:
        s.sendall(b"GET / HTTP/1.1\r\n")
        begin = time.monotonic()
        print("half a request", _parts(_read_all(s))[0], "in time" if time.monotonic() - begin < 15 else "late")


def values(server):
    """A weight of graph 0: a piece of it, all of it, and what is no piece."""
    graph = json.loads(server.ask(server.root + "data/graph-0")[2])
    names = [graph["strings"][i] for i in graph["tensor"]["name"]]
    t = names.index("conv1.weight")
    root = server.root
    status, _, text = server.ask(root + f"values?tensor={t}&at=3,0&rows=2&columns=2&column=1")
    piece = json.loads(text)
    print("piece", status, piece["shape"], piece["at"], piece["rows"], piece["columns"], ["%.5f" % v for v in piece["values"]])
    status, head, body = server.ask(root + f"values.npy?tensor={t}")
    print("npy", status, body[:6], len(body), "attachment" if "attachment" in head else "")
    for query in ("", "tensor=99999", "tensor=-1", f"tensor={t}", f"tensor={t}&at=16,0", f"tensor={t}&at=0,0,0", f"tensor={t}&at=0,x", f"tensor={t}&at=0,0&row=3",
                  f"tensor={t}&at=0,0&rows=0", f"tensor={t}&side=c&at=0,0", f"graph=1&tensor={t}", f"tensor={t}&at=0,0&row=99999999999999999999"):
        print(query.replace(f"tensor={t}", "tensor=T"), server.ask(root + "values?" + query)[0])
    print("not run", server.ask(root + f"values?tensor={names.index('relu1')}")[0])


def extract(server):
    status, head, body = server.ask(server.root + "extract?input=relu1&output=conv2")
    with open("part.onnx", "wb") as file:
        file.write(body)
    print("part", status, "attachment" if 'filename="part.onnx"' in head else head)
    print("unknown", server.ask(server.root + "extract?output=nothing")[2].decode().strip())
    print("needs more", server.ask(server.root + "extract?input=conv2&output=relu1")[2].decode().strip())


def ends(server):
    with server.connect() as held:
        begin = time.monotonic()
        code = server.end()
        print("ended by", signal.Signals(-code).name if code < 0 else code, "soon" if time.monotonic() - begin < 2 else "late")
        print("".join(server.process.stdout).strip())
        try:
            print("closed", held.recv(1))
        except ConnectionResetError:
            print("closed b''")


def ports(server):
    files = sys.argv[2:]
    other = Server(files)
    print("next port", other.port != server.port)
    other.end()
    server.end()
    with socket.socket() as s:  # far from 8000, where other servers of these tests come and go
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    first = Server(files, "--port", str(port))
    words = ["polygraphy", "view", *files, "--serve", "--no-browser", "--port", str(port)]
    taken = subprocess.run(words, capture_output=True, text=True, timeout=ALIVE_S)
    print("taken", taken.returncode, taken.stderr.replace(str(port), "PORT").strip())
    first.end()
    again = Server(files, "--port", str(port))
    print("again", again.port == port)
    again.end()


def browser(server):
    """The browser gets the address; without one the address is printed, and that is all."""
    server.end()
    with open("browser", "w") as file:
        file.write('#!/bin/sh\necho "$@" > asked\n')
    os.chmod("browser", 0o755)
    for chosen in (os.path.abspath("browser"), "/no/such/browser", ""):
        env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")} | {"BROWSER": chosen}
        process = subprocess.Popen(["polygraphy", "view", *sys.argv[2:], "--serve"], env=env, stdout=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        address = process.stdout.readline().split()[-1]
        end = time.monotonic() + ALIVE_S
        while os.path.exists(chosen) and not (os.path.exists("asked") and os.path.getsize("asked")) and time.monotonic() < end:
            time.sleep(0.01)
        asked = open("asked").read().strip() == address if os.path.exists("asked") else False
        said = "to the user" if asked else process.stdout.readline().strip()
        print("shown" if asked else "not shown:", said)
        if asked:
            os.remove("asked")
        process.send_signal(signal.SIGINT)
        process.wait()


def terminal(server):
    """On a terminal a page is served without being asked for."""
    server.end()
    pid, fd = os.forkpty()
    if not pid:
        os.execvp("polygraphy", ["polygraphy", "view", *sys.argv[2:], "--no-browser"])
    text = b""
    while b"/\r\n" not in text:
        text += os.read(fd, 4096)
    print("served", b"http://127.0.0.1:" in text)
    os.write(fd, b"\x03")
    print("ended by", signal.Signals(os.WTERMSIG(os.waitpid(pid, 0)[1])).name)


def main():
    check, files = sys.argv[1], sys.argv[2:]
    server = Server(files)
    try:
        globals()[check](server)
    finally:
        if server.process.poll() is None:
            server.end()


if __name__ == "__main__":
    main()
