#!/usr/bin/env python3
"""What watchers cost a run of dedup: runs in turns, unseen, served, and served to watchers.

    bench/serve_watchers.py [--bloomery PATH] [--lines N] [--times N] [--watchers N] [--rounds N]

Each run reads the same lines from a file in the page cache, and prints to /dev/null. Watchers are
connections of one other process that read every event, as pages do. Processor seconds are those of
the run alone; `serving` is what its two threads that serve took of them, which can be told also
where other work beside moves everything else. On a machine with few cores the wall seconds have
some of what the watchers do, too.
"""
import argparse
import os
import selectors
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def watch(port, count, wanted):
    """A process that holds so many streams, and ends with the run; prints the bytes it read."""
    child = os.fork()
    if child:
        return child
    with selectors.DefaultSelector() as ready:
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", port), 20)
            one.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            ready.register(one, selectors.EVENT_READ)
        open_now, got = count, 0
        while open_now:
            for key, _ in ready.select():
                try:
                    data = key.fileobj.recv(1 << 16)
                except ConnectionError:
                    data = b""
                got += data.count(b"event: status")
                if not data:
                    ready.unregister(key.fileobj)
                    open_now -= 1
    os._exit(0 if got >= wanted * count else 1)


def serving_seconds(process):
    """Processor seconds of the threads that serve, so far."""
    seconds = 0
    for task in Path(f"/proc/{process}/task").iterdir():
        try:
            if (task / "comm").read_text().startswith("serve-"):
                seconds += int((task / "schedstat").read_text().split()[0]) / 1e9
        except (OSError, IndexError):
            pass  # it has just ended
    return seconds


def run(bloomery, path, times, watchers):
    """(wall, processor, serving) seconds; watchers None: not served."""
    words = [bloomery, "dedup", "-q", *[str(path)] * times]
    if watchers is not None:
        words.append("--serve")
    start = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    child = None
    if watchers is not None:
        port = int(process.stderr.readline().decode().rstrip("/\n").rsplit(":", 1)[1])
        if watchers:
            child = watch(port, watchers, 2)
    process.stderr.close()
    serving, ended = 0, 0
    while not ended:
        serving = max(serving, serving_seconds(process.pid))
        time.sleep(0.02)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}")
    if child and os.waitpid(child, 0)[1]:
        raise SystemExit("a watcher did not get its events")
    return wall, used.ru_utime + used.ru_stime, serving


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--bloomery", default="build/release/bloomery")
    words.add_argument("--lines", type=int, default=40_000_000)
    words.add_argument("--times", type=int, default=5, help="how often the lines come")
    words.add_argument("--watchers", type=int, default=100)
    words.add_argument("--rounds", type=int, default=7)
    flags = words.parse_args()
    ways = {"unseen": None, "served, nobody watches": 0,
            f"served, {flags.watchers} watch": flags.watchers}
    found = {way: [] for way in ways}
    with tempfile.TemporaryDirectory(prefix="bloomery-watchers-") as place:
        path = Path(place, "lines")
        with open(path, "wb") as out:
            subprocess.run(["seq", str(flags.lines)], stdout=out, check=True)
        run(flags.bloomery, path, flags.times, None)
        for _ in range(flags.rounds):
            for way, watchers in ways.items():
                found[way].append(run(flags.bloomery, path, flags.times, watchers))
    base = None
    for way, runs in found.items():
        wall, used, serving = (statistics.median(one[i] for one in runs) for i in range(3))
        base = base or (wall, used)
        print(f"{way:30} wall {wall:7.3f} s {100 * (wall / base[0] - 1):+6.2f} %   "
              f"processor {used:7.3f} s {100 * (used / base[1] - 1):+6.2f} %   "
              f"serving {1e3 * serving:6.2f} ms {100 * serving / used:5.2f} %")


if __name__ == "__main__":
    main()
