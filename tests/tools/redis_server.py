"""A real redis-server for a test: on a free loopback port, in a temporary directory, stopped after.

    with RedisServer("--maxmemory", "8mb", password="secret") as server:
        run("bloomery", "check", f"redis://127.0.0.1:{server.port}/0/seen")

REDIS_SERVER names another server program, such as a later version or Valkey.
Whatever is given by position is handed to redis-server as it is. The server dies with the process
that started it, even when that is killed, so a failed test leaves nothing behind.
Limits:  no cluster is made here; free_port() leaves room for the bus of one (port + 10000).
Threads: start servers from the main thread; Linux counts the end of the thread that started a
         process as the end of its parent.
"""
import atexit
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

HOST = "127.0.0.1"


def free_port():
    """A loopback port that nobody listens on, below those the kernel gives to clients."""
    choose = random.SystemRandom()
    for _ in range(1000):
        port = choose.randrange(20000, 30000)
        if all(map(can_listen, (port, port + 10000))):
            return port
    raise RuntimeError("no free port between 20000 and 30000")


def can_listen(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def die_with_parent():
    """For preexec_fn: SIGKILL when the parent ends (Linux: PR_SET_PDEATHSIG is 1)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def started(command, directory, **more):
    """A server in that directory, with its words in the file log there."""
    with open(directory / "log", "wb") as log:
        return subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=die_with_parent, **more,
        )


class RedisServer:
    """Running when the constructor returns. `port`, `directory`, `process` may be looked at."""

    def __init__(self, *options, password=None, port=None, directory=None, patience=20.0):
        self.program = os.environ.get("REDIS_SERVER") or shutil.which("redis-server")
        if self.program is None:
            raise RuntimeError("redis-server is missing: scripts/setup test")
        self.options = list(options)
        self.password = password
        self.patience = patience
        self.process = None
        self.own_directory = directory is None
        self.directory = Path(directory or tempfile.mkdtemp(prefix="bloomery-redis-"))
        atexit.register(self.stop)
        try:
            self.start(port)
        except BaseException:
            self.stop()
            raise

    def start(self, port=None):
        """Also after kill(), on the same port then, with what the directory has kept."""
        wanted = port or getattr(self, "port", None)
        for attempt in range(5):
            self.port = wanted or free_port()
            self.launch()
            if self.wait_until_ready():
                return
            said = self.log()
            self.kill()
            # Somebody may have taken the port between our look and the start of the server.
            if wanted or "Address already in use" not in said:
                break
        raise RuntimeError(f"redis-server did not start on port {self.port}:\n{said}")

    def launch(self):
        command = [self.program, "--bind", HOST, "--port", str(self.port), "--save", ""]
        command += ["--dir", str(self.directory), "--daemonize", "no", "--protected-mode", "no"]
        if self.password is not None:
            command += ["--requirepass", self.password]
        self.process = started(command + self.options, self.directory)

    def wait_until_ready(self):
        end = time.monotonic() + self.patience
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.command("PING", timeout=1.0).startswith(b"+PONG"):
                    # Another server that has our port would have answered for one that has ended.
                    return self.process.poll() is None
            except OSError:
                pass
            time.sleep(0.02)
        return False

    def command(self, *words, timeout=10.0):
        """Sends one command over a connection of its own and returns the raw reply.

        For replies of one line or one bulk string; anything longer is for redis-cli."""
        with socket.create_connection((HOST, self.port), timeout=timeout) as line:
            with line.makefile("rwb") as stream:
                if self.password is not None:
                    self.ask(stream, ("AUTH", self.password))
                return self.ask(stream, words)

    @staticmethod
    def ask(stream, words):
        raw = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        sent = b"*%d\r\n" % len(raw) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in raw)
        stream.write(sent)
        stream.flush()
        reply = stream.readline()
        if reply.startswith(b"$") and not reply.startswith(b"$-1"):
            reply += stream.read(int(reply[1:]) + 2)
        return reply

    def log(self):
        return (self.directory / "log").read_text(errors="replace")

    def kill(self):
        """At once, as when a machine fails. The directory stays; start() begins again."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self):
        """Ends the server and removes its directory; may be called again."""
        self.kill()
        if self.own_directory:
            shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.stop)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
