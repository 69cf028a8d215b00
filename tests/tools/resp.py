"""A client of Redis for tests: RESP2 and RESP3, replies as plain Python values.

    with Resp(port, protocol=3) as redis:
        redis.ask("BF.ADD", "key", b"item")        # True; 1 in protocol 2
        redis.ask("BF.ADD", "key")                 # RespError("ERR wrong number of arguments ...")

An error is returned, not raised, so that tables of expected replies can hold it.
"""
import socket

HOST = "127.0.0.1"


class RespError(Exception):
    """An error reply; equal to another with the same text."""

    def __eq__(self, other):
        return isinstance(other, RespError) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))

    def __repr__(self):
        return f"RespError({str(self)!r})"


class Simple(str):
    """A simple string such as +OK, told apart from a bulk string, which is bytes."""


class Resp:
    def __init__(self, port, protocol=2, timeout=30.0):
        self.line = socket.create_connection((HOST, port), timeout=timeout)
        self.line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.line.makefile("rb")
        self.pushed = []
        if protocol == 3:
            hello = self.ask("HELLO", 3)
            assert hello[b"proto"] == 3, hello

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.stream.close()
        self.line.close()

    def ask(self, *words):
        self.line.sendall(packed(words))
        return self.read()

    def pipeline(self, commands):
        """Sends all commands, then reads all replies."""
        self.line.sendall(b"".join(map(packed, commands)))
        return [self.read() for _ in commands]

    def read(self):
        """The next reply; pushes that come before it are put aside in `pushed`."""
        while True:
            head = self.stream.readline()
            if not head.endswith(b"\r\n"):
                raise ConnectionError("the server has closed the connection")
            if head[:1] != b">":
                return self.value(head)
            self.pushed.append([self.read() for _ in range(int(head[1:]))])

    def value(self, head):
        kind, rest = head[:1], head[1:-2]
        if kind == b"+":
            return Simple(rest.decode())
        if kind == b"-":
            return RespError(rest.decode(errors="replace"))
        if kind in b":(":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind in b"$=":
            length = int(rest)
            return None if length < 0 else self.stream.read(length + 2)[:-2]
        if kind in b"*~":
            length = int(rest)
            return None if length < 0 else [self.read() for _ in range(length)]
        if kind == b"%":
            return {self.read(): self.read() for _ in range(int(rest))}
        raise ValueError(f"not a reply of RESP: {head!r}")


def packed(words):
    raw = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(raw) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in raw)
