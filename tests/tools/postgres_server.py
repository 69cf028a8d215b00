"""A real PostgreSQL for a test: a new cluster in a temporary directory, on a socket in it, no port.

    with PostgresServer() as server:
        server.sql("create table users (id bigint primary key, name text)")
        run("example", "--postgres", server.conninfo)

PostgreSQL refuses to run as root; it becomes the user postgres then, or nobody. The server dies
with the process that started it (redis_server.die_with_parent; start it from the main thread).
"""
import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from redis_server import started


def programs():
    """The directory of initdb and postgres: Debian keeps them by version, outside the PATH."""

    def version(path):
        return [int(part) for part in path.parent.parent.name.split(".") if part.isdigit()]

    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=version)
    if found:
        return found[-1].parent
    if plain := shutil.which("initdb"):
        return Path(plain).resolve().parent
    raise RuntimeError("PostgreSQL is missing: scripts/setup test")


def unprivileged():
    """What subprocess needs to run as somebody who is not root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise RuntimeError("PostgreSQL refuses root, and there is neither a user postgres nor nobody")


class PostgresServer:
    """Running when the constructor returns. `conninfo` is for libpq and psql."""

    def __init__(self, *options, patience=60.0):
        self.programs = programs()
        self.options = list(options)
        self.process = None
        self.become = unprivileged()
        self.directory = Path(tempfile.mkdtemp(prefix="bloomery-pg-"))
        self.conninfo = f"host={self.directory} port=5432 user=postgres dbname=postgres"
        atexit.register(self.stop)
        try:
            if self.become:
                os.chown(self.directory, self.become["user"], self.become["group"])
            self.initialise()
            self.start()
            self.wait_until_ready(patience)
        except BaseException:
            self.stop()
            raise

    def initialise(self):
        command = [self.programs / "initdb", "-D", self.directory / "data", "-U", "postgres"]
        command += ["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = self.run(command, **self.become)
        if made.returncode != 0:
            raise RuntimeError(f"initdb failed:\n{made.stdout}{made.stderr}")

    def start(self):
        command = [self.programs / "postgres", "-D", self.directory / "data", "-p", "5432"]
        command += ["-k", self.directory, "-h", "", "-c", "fsync=off"]
        self.process = started(command + self.options, self.directory, **self.become)

    def wait_until_ready(self, patience):
        end = time.monotonic() + patience
        while time.monotonic() < end and self.process.poll() is None:
            if self.psql("select 1").returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL did not start:\n{(self.directory / 'log').read_text()}")

    def sql(self, text):
        """What the statement prints, unaligned and without a head."""
        ran = self.psql(text)
        if ran.returncode != 0:
            raise RuntimeError(ran.stderr)
        return ran.stdout

    def psql(self, text):
        command = [self.programs / "psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1"]
        return self.run(command + ["-c", text, self.conninfo])

    def run(self, command, **more):
        return subprocess.run(
            command, cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            **more,
        )

    def kill(self):
        """At once: no client gets another answer."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def stop(self):
        """Ends the server and removes its cluster; may be called again."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.stop)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
