"""Sets on one real Redis server, through the command: what works, and what happens when it breaks.

Every test has a server of its own, stopped whatever happens.
"""
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from redis_server import HOST, RedisServer, free_port

BLOOMERY = os.environ["BLOOMERY"]


def run(*words, code=0, environment=None, **more):
    done = subprocess.run(
        [BLOOMERY, *map(str, words)], capture_output=True, text=True, timeout=120,
        env={**os.environ, **(environment or {})}, **more,
    )
    assert done.returncode == code, (words, done.returncode, done.stdout[-500:], done.stderr)
    return done


def lines(first, last):
    return "".join(f"line {i}\n" for i in range(first, last))


def commands(server):
    """Calls by name, as the server counted them."""
    stats = server.command("INFO", "commandstats").decode()
    found = {}
    for line in stats.splitlines():
        if line.startswith("cmdstat_"):
            name, _, rest = line[8:].partition(":")
            found[name] = int(rest.split("calls=")[1].split(",")[0])
    return found


def all_keys(server):
    password = {"REDISCLI_AUTH": server.password} if server.password else {}
    done = subprocess.run(
        ["redis-cli", "-p", str(server.port), "--scan"],
        capture_output=True, text=True, check=True, env={**os.environ, **password},
    )
    return sorted(done.stdout.split("\n"))


class OneServer(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def server(self, *options, **more):
        server = RedisServer(*options, **more)
        self.addCleanup(server.stop)
        return server

    def file(self, name, text):
        (self.root / name).write_text(text)
        return str(self.root / name)

    @staticmethod
    def url(server, name="seen", more=""):
        return f"redis://{HOST}:{server.port}/0/{name}{more}"


class EveryCommand(OneServer):
    def test_build_check_add_info_and_copies(self):
        server = self.server()
        url = self.url(server)
        keys = self.file("keys", lines(0, 20_000))
        built = json.loads(run("build", "-p", "1%", "--json", "-o", url, keys).stdout)
        self.assertEqual("blocked", built["kind"])
        self.assertLessEqual(built["bits_per_key"], 10.3)
        self.assertEqual("20000\n", run("check", "-c", url, keys).stdout)
        strangers = self.file("strangers", lines(100_000, 200_000))
        passed = int(run("check", "-c", url, strangers).stdout)
        self.assertTrue(700 < passed < 1300, passed)
        self.assertEqual(100_000 - passed, run("check", "-v", url, strangers).stdout.count("\n"))
        added = json.loads(run("add", "--json", url, self.file("one", "new one\n")).stdout)
        self.assertEqual((1, 0), (added["fresh"], added["in_doubt"]))
        run("check", "-q", url, input="new one\n")
        info = json.loads(run("info", "--json", url).stdout)
        self.assertEqual(built["keys"] + 1, info["keys"])
        self.assertEqual("text", info["key_form"])
        self.assertEqual("strip", info["crlf"])
        self.assertNotIn("file_bytes", info)
        # A copy has the same bits, so it answers alike.
        copy = str(self.root / "copy.bloom")
        run("merge", "union", "-o", copy, url, url)
        self.assertEqual(run("check", url, strangers).stdout, run("check", copy, strangers).stdout)
        # And what is built here has the bits of what is built there.
        local = str(self.root / "local.bloom")
        run("build", "-p", "1%", "-o", local, keys, self.file("more", "new one\n"), "-n",
            info["capacity"])
        self.assertEqual(run("check", url, strangers).stdout, run("check", local, strangers).stdout)

    def test_several_sets_at_once_and_the_rules_that_are_stored(self):
        server = self.server()
        run("build", "-o", self.url(server, "mails"), "--normalize", "email",
            self.file("mails", "A.User@Example.COM\r\n"))
        run("build", "-o", str(self.root / "b.bloom"), self.file("b", "b\n"))
        found = run("check", "-s", self.url(server, "mails"), "-s", self.root / "b.bloom",
                    "--which", input="a.user@EXAMPLE.com\nb\n").stdout
        self.assertIn(f"{self.url(server, 'mails')}\ta.user@EXAMPLE.com\n", found)
        self.assertIn("b.bloom\tb\n", found)
        against = run("dedup", "--against", self.url(server, "mails"),
                      input="A.user@example.com\nc\n")
        self.assertEqual("c\n", against.stdout)

    def test_a_set_is_replaced_only_with_force_and_its_old_shards_go(self):
        server = self.server()
        url = self.url(server)
        run("build", "-o", url, self.file("old", lines(0, 1000)))
        before = all_keys(server)
        said = run("build", "-o", url, self.file("new", lines(5000, 6000)), code=2).stderr
        self.assertIn("exists; --force replaces it", said)
        self.assertEqual(before, all_keys(server))
        run("build", "-f", "-o", url, self.root / "new")
        self.assertEqual("1000\n", run("check", "-c", url, self.root / "new").stdout)
        self.assertEqual("0\n", run("check", "-c", url, self.root / "old", code=1).stdout)
        self.assertEqual(len(before), len(all_keys(server)))
        self.assertFalse([key for key in all_keys(server) if ".g1:" in key])

    def test_the_server_counts_one_command_for_an_ask_and_two_for_an_add(self):
        server = self.server()
        url = self.url(server)
        # Room enough that no new key passes for a member, which would spare its second command.
        run("dedup", "--state", url, "-n", "1M", input="x\n")
        server.command("CONFIG", "RESETSTAT")
        keys = self.file("keys", lines(0, 100_000))
        run("add", url, keys)
        counted = commands(server)
        self.assertEqual(100_000, counted["bitfield"])
        # Few are asked for first: some at the beginning, and one a second of each shard.
        self.assertLess(counted["getrange"], 20_000)
        beside = sum(counted.values()) - counted["getrange"] - counted["bitfield"]
        self.assertLess(beside, 400)  # meta, info, counts, the shards that the report looks at
        server.command("CONFIG", "RESETSTAT")
        run("add", url, keys)
        self.assertNotIn("bitfield", commands(server))
        server.command("CONFIG", "RESETSTAT")
        run("check", "-c", url, keys)
        counted = commands(server)
        self.assertEqual(100_000, counted["getrange"])
        self.assertLess(sum(counted.values()) - 100_000, 20)

    def test_a_time_to_live_ends_the_whole_set(self):
        server = self.server()
        run("dedup", "--state", self.url(server, more="?ttl=1s"), "-n", "1000", input="a\n")
        self.assertIn("a", run("check", self.url(server), input="a\n").stdout)
        time.sleep(1.2)
        self.assertEqual([""], all_keys(server))
        self.assertIn("does not exist", run("check", self.url(server), code=2, input="a\n").stderr)

    def test_a_secret_key_that_stays_here(self):
        server = self.server()
        url = self.url(server)
        key = self.file("key", "00112233445566778899aabbccddeeff")
        other = self.file("other", "ff112233445566778899aabbccddeeff")
        run("build", "-o", url, "--hardened", "--key-file", key, input="a\n")
        self.assertEqual("a\n", run("check", "--key-file", key, url, input="a\n").stdout)
        self.assertIn("key", run("check", url, code=2, input="a\n").stderr)
        wrong = run("check", "--key-file", other, url, code=2, input="a\n")
        self.assertIn("not the one", wrong.stderr)
        stored = server.command("HGET", "{seen}:meta", "law:1").decode()
        self.assertNotIn("00112233", stored)


class Refusals(OneServer):
    """A clear sentence, exit 2, and nothing written."""

    def refused(self, server, sentence, *words, **more):
        before = all_keys(server)
        said = run(*words, code=2, **more).stderr
        self.assertIn(sentence, said)
        self.assertEqual(before, all_keys(server))
        return said

    def test_passwords(self):
        server = self.server(password="pass word/1")
        name = f"{HOST}:{server.port}/0/seen"
        good = f"redis://:pass%20word%2F1@{name}"
        run("build", "-o", good, input="a\n")
        self.assertEqual("a\n", run("check", good, input="a\n").stdout)
        secret = {"BLOOMERY_REDIS_PASSWORD": "pass word/1"}
        self.assertEqual("a\n", run("check", f"redis://{name}", input="a\n",
                                    environment=secret).stdout)
        self.refused(server, "BLOOMERY_REDIS_PASSWORD", "dedup", "--state", f"redis://{name}",
                     input="a\n")
        said = self.refused(server, "refuses the password", "dedup", "--state",
                            f"redis://:secret7@{name}", input="a\n")
        self.assertNotIn("secret7", said)

    def test_other_parameters(self):
        server = self.server()
        url = self.url(server)
        run("dedup", "--state", url, "-n", "1000", "-p", "0.1%", "--seed", "7", input="a\n")
        for flags, sentence in [
            (["-p", "1%"], "made for the rate 0.1 %"),
            (["-n", "2000"], "planned for 1,000 keys"),
            (["--seed", "8"], "seed 7"),
            (["--hardened"], "not hardened"),
            (["--normalize", "url"], "normalis"),
            (["--crlf", "strip"], "carriage returns"),
            (["--exact"], "neither exact"),
            (["--window", "10"], "neither exact"),
            (["-m", "1G"], "--memory"),
            (["--repeated"], "--repeated"),
            (["--checkpoint", "1s"], "--checkpoint"),
        ]:
            with self.subTest(flags=flags):
                self.refused(server, sentence, "dedup", "--state", url, *flags, input="b\n")
        for flags in ["--kind=cuckoo", "--memory=1M", "--like=" + url]:
            self.refused(server, "Redis server", "build", "-f", "-o", url, flags, input="b\n")
        self.refused(server, "cannot be removed", "remove", url, input="a\n")

    def test_keys_that_are_something_else(self):
        server = self.server()
        server.command("SET", "{text}:meta", "hello")
        server.command("HSET", "{hash}:meta", "name", "somebody")
        server.command("HSET", "{later}:meta", "format", "bloomery 99")
        for name in ["text", "hash", "later"]:
            for words in [["info"], ["check"], ["dedup", "--state"], ["build", "-f", "-o"]]:
                with self.subTest(name=name, words=words):
                    self.refused(server, "not a Bloomery set", *words, self.url(server, name),
                                 stdin=subprocess.DEVNULL)
        self.refused(server, "does not exist", "check", self.url(server, "none"), input="a\n")

    def test_a_server_that_evicts(self):
        server = self.server("--maxmemory-policy", "allkeys-lru")
        self.refused(server, "noeviction", "dedup", "--state", self.url(server), input="a\n")
        self.refused(server, "noeviction", "build", "-o", self.url(server), input="a\n")
        server.command("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
        self.refused(server, "noeviction", "dedup", "--state", self.url(server, more="?ttl=9d"),
                     input="a\n")
        run("dedup", "--state", self.url(server), input="a\n")
        server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
        self.refused(server, "noeviction", "check", self.url(server), input="a\n")

    def test_a_shard_that_is_missing_or_cut(self):
        server = self.server()
        url = self.url(server)
        keys = self.file("keys", lines(0, 20_000))
        run("build", "-o", url, keys)
        shard = [key for key in all_keys(server) if ".g1:" in key][3]
        server.command("RENAME", shard, "elsewhere")
        for words in [["check"], ["add"], ["dedup", "--state"], ["info"]]:
            files = [keys] if words != ["info"] else []
            said = self.refused(server, "is missing or cut short", *words, url, *files)
            self.assertIn(shard, said)
        server.command("SET", shard, "short")
        self.refused(server, "is missing or cut short", "add", url, keys)
        server.command("RENAME", "elsewhere", shard)
        self.assertEqual("20000\n", run("check", "-c", url, keys).stdout)

    def test_a_replica_takes_no_lines(self):
        master = self.server()
        replica = self.server("--replicaof", f"{HOST} {master.port}")
        run("build", "-o", self.url(master), input="a\n")
        end = time.monotonic() + 30
        while server_has(replica) < server_has(master) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual("a\n", run("check", self.url(replica), input="a\n").stdout)
        self.refused(replica, "takes no writes", "add", self.url(replica), input="b\n")

    def test_bad_words(self):
        for word, sentence in [
            ("redis://localhost", "name of the set"),
            ("redis://localhost/0", "name of the set"),
            ("REDIS://localhost/0", "name of the set"),
            ("redis://localhost/x/seen", "not a number"),
            ("redis://localhost/0/se en", "not a URL"),
            ("redis://localhost/0/se%7Ben", "braces"),
            ("redis://localhost:99999/0/seen", "port"),
            ("redis:///0/seen", "host"),
            ("redis://localhost/0/seen?timeout=5", "unit"),
            ("redis://localhost/0/seen?time=5s", "timeout, ttl, read and wait"),
            ("rediss://localhost/0/seen", "TLS"),
        ]:
            with self.subTest(word=word):
                self.assertIn(sentence, run("info", word, code=2).stderr)


def server_has(server):
    return int(server.command("DBSIZE")[1:])


class LostAndFull(OneServer):
    """What a user did to a set behind its back, or asked too much of it."""

    def test_losses_of_an_overfull_set_are_told_as_they_are(self):
        server = self.server()
        everything = self.file("all", lines(0, 100_000))
        done = run("dedup", "--state", self.url(server), "-n", "10k", "--json", everything)
        report = json.loads(done.stderr.splitlines()[-1])
        lost = 100_000 - done.stdout.count("\n")
        self.assertGreater(lost, 1000)
        self.assertTrue(0.8 * lost < report["expected_lost"] < 1.25 * lost,
                        (lost, report["expected_lost"]))
        after = int(done.stderr.split("overfull after ")[1].split()[0].replace(",", ""))
        self.assertLess(after, 12_000)
        added = json.loads(run("add", "--json", self.url(server), everything).stdout)
        info = json.loads(run("info", "--json", self.url(server)).stdout)
        self.assertAlmostEqual(info["rate_now"], added["rate_now"], delta=1e-3)

    def test_a_set_that_came_while_another_was_built_stays(self):
        server = self.server()
        url = self.url(server)
        builder = subprocess.Popen([BLOOMERY, "build", "-q", "-n", "1000", "-o", url],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        builder.stdin.write("a\n")
        builder.stdin.flush()
        time.sleep(0.3)
        run("dedup", "--state", url, "-n", "2000", input=lines(0, 1000))
        said = builder.communicate()[1]
        self.assertEqual(2, builder.returncode)
        self.assertIn("--force", said)
        self.assertEqual("1000\n", run("check", "-c", url, input=lines(0, 1000)).stdout)

    def test_shards_of_a_set_that_is_gone_are_not_taken_for_those_of_a_new_one(self):
        server = self.server()
        url = self.url(server)
        run("dedup", "--state", url, "-n", "1000", input=lines(0, 1000))
        server.command("DEL", "{seen}:meta")
        again = run("dedup", "--state", url, "-n", "1000", input=lines(0, 1000))
        self.assertEqual(lines(0, 1000), again.stdout)

    def test_a_worker_whose_set_was_made_anew_ends(self):
        server = self.server()
        url = self.url(server)
        worker = subprocess.Popen(
            [BLOOMERY, "dedup", "--state", url, "-n", "1000"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        worker.stdin.write(lines(0, 10))
        worker.stdin.flush()
        for _ in range(10):
            worker.stdout.readline()
        server.command("FLUSHALL")
        run("dedup", "--state", url, "-n", "1000", input="other\n")
        said = worker.communicate(lines(0, 20))[1]
        self.assertEqual(2, worker.returncode)
        self.assertIn("made again", said)

    def test_lines_of_an_output_that_a_new_set_does_not_know(self):
        server = self.server()
        url = self.url(server)
        out = self.file("out", "a\n")
        said = run("dedup", "--state", url, "-o", out, code=2, input="a\n").stderr
        self.assertIn("does not know them", said)
        self.assertEqual([""], all_keys(server))

    def test_what_servers_have_no_room_for(self):
        server = self.server("--maxmemory", "20mb")
        for words in [["dedup", "--state"], ["build", "-o"]]:
            flags = ["-n", "100M", "-p", "1%"]
            said = run(*words, self.url(server), *flags, code=2, input="a\n").stderr
            self.assertIn("MiB left", said)
            self.assertEqual([""], all_keys(server))
        run("dedup", "--state", self.url(server), "-n", "100k", input="a\n")

    def test_a_signal_wakes_a_worker_that_waits_for_input(self):
        server = self.server()
        worker = subprocess.Popen(
            [BLOOMERY, "dedup", "--state", self.url(server), "-n", "1000"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        worker.stdin.write("a\n")
        worker.stdin.flush()
        self.assertEqual("a\n", worker.stdout.readline())
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(2, worker.wait(timeout=20))
        worker.communicate()

    def test_verify(self):
        server = self.server()
        url = self.url(server)
        run("build", "-o", url, input=lines(0, 1000))
        self.assertIn("ok", run("verify", url).stdout)
        shard = [key for key in all_keys(server) if ".g1:" in key][0]
        server.command("DEL", shard)
        self.assertIn("is missing", run("verify", url, code=2).stderr)

    def test_only_build_puts_sets_on_servers(self):
        server = self.server()
        for words in [["merge", "union", "a", "b"], ["fold", "a"]]:
            said = run(*words, "-o", self.url(server), code=2).stderr
            self.assertIn("bloomery build -o", said)
        self.assertIn("file name", run("dedup", "-o", self.url(server), code=2, input="a\n").stderr)


class BrokenServers(OneServer):
    def test_a_port_where_nobody_listens(self):
        begin = time.monotonic()
        said = run("check", f"redis://{HOST}:{free_port()}/0/seen", code=2, input="a\n").stderr
        self.assertIn("cannot be reached", said)
        self.assertLess(time.monotonic() - begin, 5)

    def listener(self, serve):
        listening = socket.create_server((HOST, 0))
        self.addCleanup(listening.close)

        def loop():
            while True:
                try:
                    line, _ = listening.accept()
                except OSError:
                    return
                with line:
                    serve(line)

        threading.Thread(target=loop, daemon=True).start()
        return f"redis://{HOST}:{listening.getsockname()[1]}/0/seen?timeout=1s"

    def test_servers_that_answer_nonsense_or_nothing(self):
        for serve, sentence in [
            (lambda line: (line.recv(999), line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
             "as a Redis server would"),
            (lambda line: (line.recv(999), line.sendall(b"+OK\r\n"), line.recv(999)),
             "as Redis does"),
            (lambda line: time.sleep(3), "does not answer in time"),
            (lambda line: None, "onnection"),  # closed, or reset by peer
        ]:
            with self.subTest(sentence=sentence):
                url = self.listener(serve)
                begin = time.monotonic()
                for words in [["check"], ["dedup", "--state"], ["build", "-o"]]:
                    self.assertIn(sentence, run(*words, url, code=2, input="a\n").stderr)
                self.assertLess(time.monotonic() - begin, 20)

    def test_a_server_that_dies_in_the_middle_and_comes_back(self):
        server = self.server("--appendonly", "yes", "--appendfsync", "always")
        url = self.url(server, more="?timeout=2s")
        total = 60_000
        out = str(self.root / "out")
        worker = subprocess.Popen(
            [BLOOMERY, "dedup", "--state", url, "-n", "1M", "-o", out],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        worker.stdin.write(lines(0, total // 2))
        worker.stdin.flush()
        end = time.monotonic() + 60
        while not (os.path.exists(out) and os.path.getsize(out)) and time.monotonic() < end:
            time.sleep(0.01)
        server.kill()
        begin = time.monotonic()
        try:
            worker.stdin.write(lines(total // 2, total))
            worker.stdin.close()
        except BrokenPipeError:
            pass
        with worker.stderr:
            said = worker.stderr.read()
        self.assertEqual(2, worker.wait())
        self.assertLess(time.monotonic() - begin, 8)
        self.assertIn("run it again", said)
        first = Path(out).read_text().splitlines()
        self.assertGreater(len(first), 0)
        doubts = 0
        if "in doubt" in said:
            doubts = int(said.split(" lines are in doubt")[0].split()[-1].replace(",", ""))
        server.start()
        again = run("dedup", "--state", url, "-o", out, "--json", self.file("all", lines(0, total)))
        doubts += json.loads(again.stderr)["in_doubt"]
        printed = Path(out).read_text().splitlines()
        self.assertEqual(first, printed[: len(first)])
        self.assertEqual(set(lines(0, total).splitlines()), set(printed))
        self.assertLessEqual(len(printed) - len(set(printed)), doubts)

    def test_a_server_that_is_away_for_a_moment_is_waited_for(self):
        server = self.server("--appendonly", "yes", "--appendfsync", "always")
        url = self.url(server, more="?timeout=20s")
        out = str(self.root / "out")
        worker = subprocess.Popen(
            [BLOOMERY, "dedup", "--state", url, "-n", "1M", "-o", out, "--json"],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        feeder = threading.Thread(target=self.feed, args=(worker, 60_000))
        feeder.start()
        while not (os.path.exists(out) and os.path.getsize(out)):
            time.sleep(0.01)
        server.kill()
        time.sleep(0.5)
        server.start()
        feeder.join()
        with worker.stderr:
            said = worker.stderr.read()
        self.assertEqual(0, worker.wait(), said)
        printed = Path(out).read_text().splitlines()
        self.assertEqual(set(lines(0, 60_000).splitlines()), set(printed))
        doubts = json.loads(said.splitlines()[-1])["in_doubt"]
        self.assertLessEqual(len(printed) - 60_000, doubts)

    def test_a_worker_that_is_stopped_prints_what_it_added(self):
        server = self.server()
        url = self.url(server)
        out = str(self.root / "out")
        for number in (signal.SIGTERM, signal.SIGINT):
            worker = subprocess.Popen(
                [BLOOMERY, "dedup", "--state", url, "-n", "1M", "-o", out],
                stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            feeder = threading.Thread(target=self.feed, args=(worker, 300_000))
            feeder.start()
            time.sleep(0.3)
            worker.send_signal(number)
            with worker.stderr:
                said = worker.stderr.read()
            self.assertEqual(2, worker.wait(), said)
            feeder.join()
            self.assertIn("every line that was added was printed", said.lower())
        everything = self.file("all", lines(0, 300_000))
        run("dedup", "--state", url, "-o", out, everything)
        printed = Path(out).read_text().splitlines()
        self.assertEqual(300_000, len(set(printed)))
        self.assertEqual(300_000, len(printed))

    @staticmethod
    def feed(worker, count):
        try:
            worker.stdin.write(lines(0, count))
            worker.stdin.flush()
            time.sleep(1)
            worker.stdin.close()
        except BrokenPipeError:
            pass

    def test_an_output_that_nobody_reads_is_an_error(self):
        server = self.server()
        done = subprocess.run(
            f"{BLOOMERY} dedup --state {self.url(server)} -n 1M "
            f"{self.file('all', lines(0, 300_000))} | head -1; echo ${{PIPESTATUS[0]}}",
            shell=True, executable="/bin/bash", capture_output=True, text=True, timeout=60,
        )
        self.assertEqual("line 0\n2\n", done.stdout)
        self.assertIn("the reader of the output is gone", done.stderr)

    def test_an_output_is_gone_on_with_and_never_dropped(self):
        server = self.server()
        url = self.url(server)
        out = str(self.root / "out")
        run("dedup", "--state", url, "-o", out, input="a\nb\n")
        self.assertIn("--force would drop", run("dedup", "-f", "--state", url, "-o", out, code=2,
                                                input="c\n").stderr)
        Path(out).write_text("a\nb\nhalf a li")
        said = run("dedup", "--state", url, "-o", out, input="b\nc\n").stderr
        self.assertIn("middle of a line", said)
        self.assertEqual("a\nb\nc\n", Path(out).read_text())


if __name__ == "__main__":
    unittest.main()
