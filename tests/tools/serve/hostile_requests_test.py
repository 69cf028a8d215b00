#!/usr/bin/env python3
"""Hostile and broken requests change nothing: each is answered or ended within its bounds, and the
server still answers after it.

    BLOOMERY=path/to/bloomery hostile_requests_test.py
"""
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from served import BLOOMERY, Reply, Served, read_all, until

TOKEN = "correct-horse-battery"
SEED = int(os.environ.get("BLOOMERY_SERVE_SEED", "1"))


def memory_of(process):
    """Resident bytes."""
    pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


class Hostile(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="bloomery-hostile-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        subprocess.run([BLOOMERY, "build", "-q", "-o", "a.set"], cwd=self.folder, input=b"a\nb\n",
                       check=True)

    def serve(self, *words):
        return Served("serve", "--listen", "127.0.0.1:0", "--every", "100ms", *words, "a.set",
                      cwd=self.folder)

    def expect_well(self, served):
        """It answers, within the second that a person would wait."""
        start = time.monotonic()
        self.assertEqual(served.status()["sets"][0]["keys"], 2)
        self.assertLess(time.monotonic() - start, 1)

    def test_only_requests_for_this_server_come_in(self):
        words = ["serve", "--host", "Filters.example", "--listen", "127.0.0.1:0", "a.set"]
        with Served(*words, cwd=self.folder) as served:
            port = served.port
            good = [f"localhost:{port}", "localhost", f"127.0.0.1:{port}", f"[::1]:{port}",
                    "LOCALHOST:1", "127.9.9.9", f"filters.example:{port}"]
            for host in good:
                self.assertEqual(served.get("/api/status.json", host=host).status, 200, host)
            for host in ["evil.example", f"evil.example:{port}", "localhost.evil.example",
                         "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "[::1", "localhost:1:2",
                         "localhost:x", "localhost@evil.example", "evil.example#localhost", "-",
                         "0.0.0.0", "2130706433", "0x7f.1"]:
                for path in ("/", "/api/status.json", "/api/events", "/metrics", "/nothing"):
                    reply = served.get(path, host=host)
                    self.assertEqual(reply.status, 421, host)
                    self.assertNotIn(b"a.set", reply.body)
            for head in (b"", b"Host: localhost\r\nHost: evil.example\r\n", b"Host:\r\n"):
                reply = served.ask(b"GET /metrics HTTP/1.1\r\n" + head + b"\r\n")
                self.assertIn(reply.status, (400, 421))
            self.expect_well(served)

    def test_pages_of_other_sites_may_not_ask(self):
        with self.serve() as served:
            own = f"localhost:{served.port}"
            self.assertEqual(served.get("/metrics", Origin=f"http://{own}").status, 200)
            for origin in ("null", "http://evil.example", f"https://{own}", "http://localhost:1",
                           f"http://{own}.evil.example", "http://evil.example, null"):
                reply = served.get("/metrics", Origin=origin)
                self.assertEqual(reply.status, 403, origin)
            for reply in (served.get("/"), served.get("/metrics"), served.get("/none"),
                          served.get("/", host="evil.example"), served.ask(b"rubbish\r\n\r\n")):
                self.assertNotIn("access-control-allow-origin", reply.headers)
                self.assertIn("frame-ancestors 'none'", reply.headers["content-security-policy"])
                for name, value in (("x-content-type-options", "nosniff"),
                                    ("referrer-policy", "no-referrer"),
                                    ("cross-origin-resource-policy", "same-origin"),
                                    ("cache-control", "no-store")):
                    self.assertEqual(reply.headers[name], value)
            page = served.get("/")
            self.assertIn("<title>Bloomery", page.body.decode())
            meta = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"',
                             page.body.decode())[1]
            self.assertEqual(page.headers["content-security-policy"],
                             meta + "; frame-ancestors 'none'")
            self.assertIn("'sha256-", meta)
            self.assertIn("connect-src 'self'", meta)
            self.assertNotIn("unsafe-inline", meta)

    def test_paths_lead_nowhere_else(self):
        with self.serve() as served:
            for path in ("/../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/a.set",
                         "//etc/passwd", "/a.set", "/api/", "/api/status.json/..", "/api%00",
                         "/api/status.json%00", "/metrics/", "/index.html", "/" + "a" * 7000,
                         "/api/status.json;x", "http://evil.example/", "*", "\\..\\x"):
                reply = served.get(path)
                self.assertIn(reply.status, (400, 404, 414), path)
                self.assertNotIn(b"root:", reply.body)
            self.assertIn(served.get("/" + "a" * 9000).status, (400, 414))
            self.assertEqual(served.get("/api/status.json?x=%ff%00&y").status, 200)
            self.expect_well(served)

    def test_it_only_reads(self):
        with self.serve() as served:
            before = (self.folder / "a.set").read_bytes()
            for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"):
                reply = served.get("/api/status.json", method=method, Content_Length="5")
                self.assertIn(reply.status, (400, 405), method)
                if reply.status == 405:
                    self.assertEqual(reply.headers["allow"], "GET, HEAD")
            self.assertEqual(served.get("/", method="BREW").status, 400)
            for path in ("/", "/metrics", "/api/status.json", "/api/history.json", "/api/events"):
                whole, head = served.get(path) if "events" not in path else None, \
                    served.get(path, method="HEAD")
                self.assertEqual((head.status, head.body), (200, b""), path)
                if whole:
                    self.assertEqual(head.headers["content-type"], whole.headers["content-type"])
            self.assertEqual(served.get("/none", method="HEAD").status, 404)
            self.assertEqual(before, (self.folder / "a.set").read_bytes())
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.set"])

    def test_a_token_is_asked_for(self):
        (self.folder / "token").write_text(TOKEN + "\n")
        with self.serve("--token-file", "token") as served:
            for path in ("/", "/api/status.json", "/api/events", "/metrics", "/none"):
                reply = served.get(path)
                self.assertEqual(reply.status, 401, path)
                self.assertEqual(reply.headers["www-authenticate"], "Bearer")
                self.assertIn("token", reply.json()["error"])
            for wrong in (TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "", "x" * len(TOKEN)):
                self.assertEqual(served.get("/metrics", Authorization=f"Bearer {wrong}").status,
                                 401)
                self.assertEqual(served.get(f"/?token={wrong}").status, 401)
            self.assertEqual(served.get("/metrics", Authorization=TOKEN).status, 401)
            self.assertEqual(served.get("/metrics", Authorization=f"Bearer {TOKEN}").status, 200)
            self.assertEqual(served.get(f"/metrics?token={TOKEN}").status, 200)
            reply = served.get(f"/?token={TOKEN}")
            self.assertEqual((reply.status, reply.headers["location"]), (303, "/"))
            cookie, *rules = reply.headers["set-cookie"].split("; ")
            self.assertEqual(set(rules), {"HttpOnly", "SameSite=Strict", "Path=/"})
            self.assertNotIn(TOKEN, cookie)
            self.assertEqual(served.get("/", Cookie=cookie).status, 200)
            self.assertEqual(served.get("/", Cookie=f"a=b; {cookie}; c=d").status, 200)
            for wrong in (cookie[:-1], cookie + "0", "x" + cookie, cookie.split("=")[0]):
                self.assertEqual(served.get("/", Cookie=wrong).status, 401, wrong)
            # What others could send along is refused with the cookie, too.
            self.assertEqual(served.get("/metrics", Cookie=cookie,
                                        Origin="http://evil.example").status, 403)
            self.assertNotIn(TOKEN, served.said)
        with self.serve("--token", "another-token-of-16") as served:
            self.assertEqual(served.get("/", Cookie=cookie).status, 401)
        served = Served("serve", "--listen", "127.0.0.1:0", cwd=self.folder,
                        env={"BLOOMERY_TOKEN": TOKEN})
        with served:
            self.assertEqual(served.get("/").status, 401)
            self.assertEqual(served.get("/", Authorization=f"Bearer {TOKEN}").status, 200)

    def test_other_machines_need_the_token_and_the_right_host(self):
        served = Served("serve", "--listen", "0.0.0.0:0", "--token", TOKEN, cwd=self.folder)
        with served:
            served.host = "127.0.0.1"
            token = f"Bearer {TOKEN}"
            self.assertEqual(served.get("/metrics").status, 401)
            self.assertEqual(served.get("/metrics", Authorization=token).status, 200)
            self.assertEqual(served.get("/metrics", host=socket.gethostname(),
                                        Authorization=token).status, 200)
            self.assertEqual(served.get("/metrics", host="evil.example",
                                        Authorization=token).status, 421)

    def test_long_and_odd_heads_are_refused(self):
        random_bytes = random.Random(SEED)
        with self.serve() as served:
            first = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
            long = served.ask(first + b"X: " + b"a" * (1 << 20) + b"\r\n\r\n")
            self.assertEqual(long.status, 431)
            many = served.ask(first + b"".join(b"X%d: y\r\n" % i for i in range(100_000)))
            self.assertEqual(many.status, 431)
            # Longer ranges than the stack of a regular expression would hold.
            ranges = b"Range: bytes=" + b"0-0," * 3000 + b"0-0\r\n\r\n"
            self.assertEqual(served.ask(first + ranges).status, 200)
            self.assertEqual(served.ask(first + b"Expect: 100-continue\r\n\r\n").status, 417)
            for rubbish in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
                            b"GET / HTTP/1.1\nHost: localhost\n\r\n\r\n",
                            b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                            first + b"No colon\r\n\r\n", first + b": empty\r\n\r\n",
                            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
                reply = served.ask(rubbish)
                self.assertIn(reply.status, (200, 400, 404, 405, 421), rubbish)
            for _ in range(300):
                data = random_bytes.randbytes(random_bytes.randrange(400))
                with served.connect() as one:
                    one.sendall(data + b"\r\n\r\n")
                    self.assertEqual(Reply(read_all(one)).status // 100, 4, data)
            for cut in range(0, len(first), 3):
                with served.connect() as one:
                    one.sendall(first[:cut])
            self.expect_well(served)

    def test_slow_clients_wait_for_nobody(self):
        with self.serve() as served:
            slow = [served.connect() for _ in range(300)]
            for one in slow:
                one.sendall(b"GET / HT")
            self.expect_well(served)
            told = ended = 0
            end = time.monotonic() + 8
            # A byte now and then gains no time.
            while time.monotonic() < end and slow:
                time.sleep(0.5)
                self.expect_well(served)
                for one in list(slow):
                    try:
                        one.sendall(b"T")
                        one.setblocking(False)
                        reply = one.recv(4096)
                    except BlockingIOError:
                        one.setblocking(True)
                        continue
                    except OSError:
                        reply = b""
                    told += b" 408 " in reply
                    ended += b" 408 " not in reply
                    slow.remove(one)
                    one.close()
            self.assertEqual(slow, [])
            # Some made room for others, the rest was told.
            self.assertGreater(told, 100)
            self.assertGreater(ended, 40)

    def test_ten_thousand_connections_take_what_256_take(self):
        with self.serve() as served:
            until(lambda: served.status()["sets"])
            before = memory_of(served.process)
            for chunk in range(20):
                held = []
                for i in range(500):
                    one = socket.create_connection((served.host, served.port), 5)
                    if i % 3 == 0:
                        one.sendall(b"GET /api/history.json HTTP/1.1\r\nHost: localhost\r\n")
                    held.append(one)
                self.expect_well(served)
                open_now = len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))
                self.assertLess(open_now, 256 + 30)
                for one in held:
                    one.close()
            self.expect_well(served)
            self.assertLess(memory_of(served.process) - before, 32 << 20)
            self.assertEqual(len(list(Path(f"/proc/{served.process.pid}/task").iterdir())), 2)

    def test_watchers_are_bounded_and_may_not_be_slow(self):
        with self.serve() as served:
            watching = [served.watch() for _ in range(192)]
            until(lambda: served.status()["watchers"] == 192)
            with served.watch() as one:
                self.assertEqual(Reply(read_all(one)).status, 503)
            # Those that ask nothing make room; those that watch stay.
            idle = [served.connect() for _ in range(200)]
            self.expect_well(served)
            self.assertEqual(served.status()["watchers"], 192)
            for one in watching[:100]:
                one.close()
            until(lambda: served.status()["watchers"] == 92)
            for one in idle + watching[100:]:
                one.close()
            until(lambda: served.status()["watchers"] == 0)
            self.assertEqual(served.end(signal.SIGTERM), 0)


if __name__ == "__main__":
    unittest.main()
