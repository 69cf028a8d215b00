"""A server of the command, and requests to it as bytes.

    with Served("serve", "a.set", cwd=folder) as served:
        reply = served.get("/api/status.json")          reply.status, .headers, .body
"""
import json
import os
import re
import socket
import subprocess
import sys
import time

BLOOMERY = os.environ.get("BLOOMERY") or sys.exit("set BLOOMERY to the path of the command")


class Reply:
    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        match = re.fullmatch(r"HTTP/1\.1 (\d{3}) .*", first)
        if not match:
            raise AssertionError(f"no HTTP reply: {data[:200]!r}")
        self.status = int(match[1])
        self.headers = {}
        for line in lines:
            name, _, value = line.partition(": ")
            self.headers[name.lower()] = value

    def json(self):
        return json.loads(self.body)


class Served:
    """`bloomery serve` or `bloomery dedup --serve`, from its start to its end."""

    def __init__(self, *words, cwd, stdin=None, stdout=subprocess.PIPE, env=None):
        self.process = subprocess.Popen([BLOOMERY, *words], cwd=cwd, stdin=stdin, stdout=stdout,
                                        stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
        self.said = ""
        while "serving on" not in self.said:
            line = self.process.stderr.readline().decode()
            if not line:
                raise AssertionError(f"it did not serve: {self.said}")
            self.said += line
        self.host, port = re.search(r"http://(\S+):(\d+)/", self.said).groups()
        self.host = self.host.strip("[]")
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def connect(self, timeout=20):
        return socket.create_connection((self.host, self.port), timeout)

    def ask(self, request, timeout=20):
        """The reply to these bytes."""
        with self.connect(timeout) as one:
            one.sendall(request)
            return Reply(read_all(one))

    def get(self, path, method="GET", host=None, **headers):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or f'localhost:{self.port}'}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.ask(("\r\n".join(lines) + "\r\n\r\n").encode())

    def status(self):
        return self.get("/api/status.json").json()

    def watch(self):
        """A connection that gets the events."""
        one = self.connect()
        one.sendall(f"GET /api/events HTTP/1.1\r\nHost: localhost:{self.port}\r\n\r\n".encode())
        return one

    def end(self, signal, within=5):
        """Its exit code."""
        self.process.send_signal(signal)
        return self.process.wait(within)


def read_all(one):
    data = b""
    while True:
        try:
            more = one.recv(1 << 16)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


def events_of(stream):
    """(name, data) of each event, from a connection of watch()."""
    file = stream.makefile("rb")
    if b" 200 " not in file.readline():
        raise AssertionError("no stream of events")
    while file.readline().strip():
        pass
    name = "message"
    for line in file:
        line = line.rstrip(b"\r\n")
        if line.startswith(b"event: "):
            name = line[7:].decode()
        elif line.startswith(b"data: "):
            yield name, json.loads(line[6:])


def until(holds, within=20):
    """Waits for it; the value that held."""
    end = time.monotonic() + within
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("it did not come about")
        time.sleep(0.02)
