"""Live sets through the command, in bad company: copied, cut, linked, damaged, killed, sealed and
added to at once. A key that was added is never absent, and each line is new to one command only.
"""

import fcntl
import json
import os
import random
import re
import resource
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BLOOMERY = os.environ["BLOOMERY"]
SEED = int(os.environ.get("SEED", "20"))
TMPFS = Path("/dev/shm")
OLD = [b"old%d\n" % i for i in range(2000)]
NEW = [b"new%d\n" % i for i in range(2000)]
# More than a pipe holds: when this was written, the command has opened its set.
AHEAD = [b"ahead%d\n" % i for i in range(30_000)]


def run(*words, lines=(), status=0, **more):
    done = subprocess.run([BLOOMERY, *map(str, words)], input=b"".join(lines),
                          capture_output=True, timeout=60, **more)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{words}: exit {done.returncode}, not {status}: {done.stderr}")
    return done


def start(*words):
    return subprocess.Popen([BLOOMERY, *map(str, words)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class LiveFilesTest(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="bloomery-live-")
        self.addCleanup(self.place.cleanup)
        self.folder = Path(self.place.name)
        self.set = self.folder / "F"

    def build(self, path=None, kind="blocked", *words):
        path = path or self.set
        rate = [] if kind in ("compact", "hash-set") else ["-p", "1e-6"]
        run("build", "-q", "-f", "--live", "--kind", kind, "-n", "100k", *rate, *words, "-o", path,
            lines=OLD)
        return path

    def info(self, path=None):
        return json.loads(run("info", "--json", path or self.set).stdout)

    def has(self, lines, path=None, *words):
        found = run("check", "-c", *words, path or self.set, lines=lines, status=None)
        self.assertIn(found.returncode, (0, 1), found.stderr)
        return int(found.stdout)

    def refused(self, *words, told, lines=()):
        done = run(*words, lines=lines, status=2)
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.assertIn(told.encode(), done.stderr)
        return done.stderr.decode()

    def killed_while_adding(self, lines, path=None):
        """An add that has taken these lines, and is killed before it ends."""
        adding = start("add", path or self.set)
        adding.stdin.write(b"".join(lines))
        adding.stdin.flush()
        until = time.monotonic() + 30
        while self.has(lines[-1:], path) == 0:
            self.assertLess(time.monotonic(), until, "its lines are never seen")
        adding.kill()
        adding.communicate()

    def test_what_is_added_is_there_and_the_report_tells_it(self):
        self.build()
        report = json.loads(run("add", "--json", self.set, lines=NEW + OLD).stdout)
        self.assertEqual((report["fresh"], report["lines_in"], report["keys"]), (2000, 4000, 4000))
        self.assertNotIn("keys_estimated", report)
        self.assertNotIn("fill", report)
        self.assertLess(report["rate_now"], 1e-6)
        facts = self.info()
        self.assertEqual((facts["live"], facts["live_state"], facts["keys"], facts["log_keys"]),
                         (True, "closed", 4000, 2000))
        self.assertEqual(self.has(OLD + NEW), 4000)

    # -- others --------------------------------------------------------------------------------

    def test_each_line_is_new_to_one_of_two_that_add_at_once(self):
        for kind in ("blocked", "hash-set"):
            with self.subTest(kind=kind):
                self.build(kind=kind)
                adds = [start("add", "--json", self.set) for _ in range(3)]
                for add in adds:
                    add.stdin.write(b"".join(AHEAD))
                ended = [add.communicate() for add in adds]
                fresh = [json.loads(out)["fresh"] for out, _ in ended]
                self.assertEqual(sum(fresh), len(AHEAD), (fresh, ended))
                self.assertEqual(self.has(AHEAD + OLD), len(AHEAD + OLD))

    def test_check_finds_what_others_add_after_it_has_begun(self):
        for kind in ("blocked", "compact", "hash-set"):
            with self.subTest(kind=kind):
                self.build(kind=kind)
                checking = start("check", self.set)
                # Its first answer: by then it has read the set.
                checking.stdin.write(b"".join(OLD))
                checking.stdin.flush()
                first = os.read(checking.stdout.fileno(), 1 << 16)
                self.assertTrue(first.startswith(OLD[0]))
                run("add", "-q", self.set, lines=NEW)
                rest, _ = checking.communicate(b"".join(NEW), timeout=60)
                self.assertEqual(first + rest, b"".join(OLD + NEW))

    def test_commands_read_it_while_others_add(self):
        self.build()
        checking = start("check", "-c", self.set)
        checking.stdin.write(b"".join(AHEAD))
        checking.stdin.flush()
        run("add", "-q", self.set, lines=NEW)
        out, err = checking.communicate(b"".join(NEW), timeout=60)
        self.assertEqual((checking.returncode, err), (0, b""))
        self.assertEqual(int(out), 2000, "what is added shows")
        adding = start("add", "-q", self.set)
        adding.stdin.write(b"".join(AHEAD))
        adding.stdin.flush()
        union = self.folder / "union"
        for words in (["verify", self.set], ["info", self.set], ["merge", "union", "-o", union,
                                                                self.set, self.set]):
            run(*words)
        kept = run("dedup", "-q", "--against", self.set, lines=OLD + [b"x\n"])
        self.assertEqual(kept.stdout, b"x\n")
        self.assertEqual(self.info()["live_state"], "in use")
        self.assertEqual(adding.communicate()[1], b"")
        self.assertEqual(adding.returncode, 0)
        self.assertEqual(self.has(OLD + NEW, union), 4000)

    def test_a_killed_add_loses_nothing_and_the_next_one_tells(self):
        for kind in ("blocked", "compact", "counting"):
            with self.subTest(kind=kind):
                self.build(kind=kind)
                self.killed_while_adding(AHEAD)
                self.assertEqual(self.info()["live_state"], "cut")
                seen = AHEAD[:1] + AHEAD[-1:]
                done = run("add", "--json", self.set, lines=NEW + seen)
                self.assertEqual(json.loads(done.stdout)["fresh"], 2000)
                self.assertIn(b"was not closed by the program", done.stderr)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assertEqual(run("add", "-q", self.set, lines=NEW).stderr, b"")
                self.assertEqual(self.has(OLD + NEW), 4000)
                run("verify", self.set)

    def test_sealed_while_another_adds(self):
        self.build()
        adding = start("add", "-q", self.set)
        adding.stdin.write(b"".join(AHEAD))
        adding.stdin.flush()
        report = json.loads(run("seal", "--json", self.set).stdout)
        self.assertEqual((report["was_cut"], report["recovered_keys"]), (False, 0))
        _, err = adding.communicate(b"".join(NEW), timeout=60)
        self.assertEqual(adding.returncode, 2, err)
        self.assertIn(b"was sealed by another program", err)
        self.assertNotIn("live", self.info())
        self.assertEqual(self.has(OLD), 2000)
        self.assertEqual(self.has(NEW), 0, "told to be refused")
        run("add", "-q", self.set, lines=NEW)
        self.assertEqual(self.has(OLD + NEW), 4000)

    def test_made_live_while_others_wait_to_change_it(self):
        """Who waited for the lock of an ordinary set finds a live one, and what others add to that
        stays."""
        for words, exit in ((["add", "-q"], 0), (["remove", "-q"], 0),
                            (["dedup", "-q", "--state"], 0), (["unseal", "-q"], 2)):
            with self.subTest(words=words):
                kind = ["-n", "100k", "--kind", "counting" if words[0] == "remove" else "compact"]
                live = self.folder / "live"
                for path, more in ((self.set, []), (live, ["--live"])):
                    run("build", "-q", "-f", *kind, *more, "-o", path, lines=OLD)
                with open(self.set, "rb+") as locked:
                    fcntl.flock(locked, fcntl.LOCK_EX)
                    waiting = start(*words, self.set)
                    self.assertIn(b"waiting for another change", waiting.stderr.readline())
                    live.rename(self.set)
                adding = start("add", "-q", self.set)
                adding.stdin.write(b"".join(AHEAD))
                adding.stdin.flush()
                _, err = waiting.communicate(b"".join(OLD[:10] + NEW[:10]), timeout=60)
                self.assertEqual(waiting.returncode, exit, err)
                self.assertEqual(adding.communicate()[1], b"")
                self.assertEqual(adding.returncode, 0)
                self.assertTrue(self.info()["live"])
                self.assertEqual(self.has(AHEAD), len(AHEAD))
                self.assertEqual(self.has(OLD[:10]), 0 if words[0] == "remove" else 10)
                self.assertEqual(self.has(NEW[:10]), 10 if words[0] in ("add", "dedup") else 0)

    def test_a_set_that_is_open_is_not_replaced(self):
        self.build()
        adding = start("add", "-q", self.set)
        adding.stdin.write(b"".join(AHEAD))
        adding.stdin.flush()
        for words in (["build", "-f", "-o", self.set], ["build", "--live", "-f", "-o", self.set],
                      ["merge", "union", "-f", "-o", self.set, self.set, self.set],
                      ["fold", "-f", "-o", self.set, self.set]):
            self.refused(*words, told="another program has open", lines=NEW)
        adding.communicate(b"".join(NEW), timeout=60)
        self.assertEqual(adding.returncode, 0)
        self.assertEqual(self.has(OLD + NEW), 4000)
        run("build", "-q", "-f", "--live", "-o", self.set, lines=NEW)
        self.assertEqual((self.has(OLD), self.has(NEW)), (0, 2000))
        self.refused("build", "-q", "--live", "-o", self.set, told="--force replaces it",
                     lines=NEW)

    # -- files ---------------------------------------------------------------------------------

    def test_a_copy_that_is_made_while_others_add(self):
        self.build()
        copy = self.folder / "copy"
        adding = start("add", "-q", self.set)
        adding.stdin.write(b"".join(AHEAD))
        adding.stdin.flush()
        shutil.copyfile(self.set, copy)
        adding.stdin.write(b"".join(NEW))
        self.assertEqual(adding.communicate()[1], b"")
        self.assertEqual(self.has(OLD, copy), 2000)
        done = run("add", "-q", copy, lines=[b"only here\n"])
        self.assertIn(b"was not closed", done.stderr)
        run("verify", copy)
        self.assertEqual((self.has([b"only here\n"], copy), self.has([b"only here\n"])), (1, 0))
        run("seal", "-q", copy)
        self.assertEqual(self.has(OLD, copy), 2000)

    def test_links(self):
        self.build()
        (self.folder / "soft").symlink_to("F")
        os.link(self.set, self.folder / "hard")
        run("add", "-q", self.folder / "soft", lines=NEW[:1000])
        run("add", "-q", self.folder / "hard", lines=NEW[1000:])
        for name in ("F", "soft", "hard"):
            self.assertEqual(self.has(OLD + NEW, self.folder / name), 4000, name)
        run("seal", "-q", self.folder / "soft")
        self.assertTrue((self.folder / "soft").is_symlink(), "the link stays")
        self.assertNotIn("live", self.info())
        self.assertTrue(self.info(self.folder / "hard")["live"], "another name of the old file")

    def test_what_may_not_be_written(self):
        self.build()
        self.set.chmod(0o444)
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        self.assertEqual(self.has(OLD), 2000)
        run("verify", self.set)
        run("info", self.set)
        if os.getuid() == 0:  # who may write all the same
            run("add", "-q", self.set, lines=NEW)
            return
        self.refused("add", "-q", self.set, told="cannot be changed", lines=NEW)
        self.refused("seal", self.set, told="cannot be changed")
        self.set.chmod(0o644)
        run("add", "-q", self.set, lines=NEW)
        self.refused("seal", self.set, told=str(self.folder))
        run("add", "-q", self.set, lines=NEW)
        self.assertEqual(self.has(OLD + NEW), 4000, "it is as live as before")

    def test_a_file_in_memory(self):
        if not os.access(TMPFS, os.W_OK):
            return
        with tempfile.TemporaryDirectory(prefix="bloomery-live-", dir=TMPFS) as folder:
            path = self.build(Path(folder) / "F")
            run("add", "-q", path, lines=NEW)
            self.killed_while_adding(AHEAD[:10], path)
            run("seal", "-q", path)
            self.assertEqual(self.has(OLD + NEW + AHEAD[:10], path), 4010)

    # -- damage --------------------------------------------------------------------------------

    def whole(self):
        return bytearray(self.set.read_bytes())

    def test_a_cut_tail(self):
        self.build()
        run("add", "-q", self.set, lines=NEW)
        whole = self.whole()
        for length in (len(whole) - 1, len(whole) - 4096, len(whole) // 2, 8192, 4096, 100):
            self.set.write_bytes(whole[:length])
            for words in (["add", "-q"], ["check"], ["verify"], ["seal"], ["info"]):
                with self.subTest(length=length, words=words):
                    self.refused(*words, self.set, told="F", lines=NEW)

    def test_a_cut_while_it_is_in_use(self):
        for words in (["add", "-q"], ["check", "-c"]):
            self.build()
            using = start(*words, self.set)
            using.stdin.write(b"".join(AHEAD))
            using.stdin.flush()
            os.truncate(self.set, 8192)
            _, err = using.communicate(b"".join(NEW), timeout=60)
            self.assertEqual(using.returncode, 2, (words, err))
            self.assertIn(b"cut short", err)

    def test_a_torn_superblock(self):
        for slot in (0, 4096):
            self.build()
            run("add", "-q", self.set, lines=NEW)
            whole = self.whole()
            whole[slot + 512:slot + 4096] = os.urandom(3584)
            self.set.write_bytes(whole)
            self.assertEqual(self.has(OLD + NEW), 4000)
            run("add", "-q", self.set, lines=AHEAD[:10])
            self.assertEqual(self.has(OLD + NEW + AHEAD[:10]), 4010)
            run("verify", self.set)
        for slot in (0, 4096):
            whole[slot + 8:slot + 4096] = os.urandom(4088)
        self.set.write_bytes(whole)
        for words in (["add", "-q"], ["check"], ["verify"], ["seal"]):
            self.refused(*words, self.set, told="F is", lines=NEW)

    def test_flipped_bytes(self):
        """Whatever byte is flipped: an error, or the right answer."""
        chance = random.Random(SEED)
        for kind in ("blocked", "compact"):
            self.build(kind=kind)
            run("add", "-q", self.set, lines=NEW)
            whole = self.whole()
            log = self.info()["log_bytes"]
            self.assertGreater(log, 0)
            last = max(at for at in range(len(whole) - 1, 0, -1) if whole[at])
            for at in [last, last - log // 2] + [chance.randrange(8192, last) for _ in range(8)]:
                broken = bytearray(whole)
                broken[at] ^= 1 << chance.randrange(8)
                self.set.write_bytes(broken)
                with self.subTest(seed=SEED, kind=kind, at=at):
                    done = run("verify", self.set, status=None)
                    self.assertIn(done.returncode, (0, 2), done.stderr)
                    added = run("add", "-q", self.set, lines=AHEAD[:10], status=None)
                    self.assertIn(added.returncode, (0, 2), added.stderr)
                    if added.returncode == 0:
                        self.assertEqual(self.has(AHEAD[:10]), 10)
                    if done.returncode == 0 and added.returncode == 0:
                        self.assertEqual(self.has(OLD), 2000)

    # -- the wrong thing -----------------------------------------------------------------------

    def test_secret_keys(self):
        key, wrong = self.folder / "key", self.folder / "wrong"
        key.write_bytes(os.urandom(16))
        wrong.write_bytes(os.urandom(16))
        self.build(None, "blocked", "--hardened", "--key-file", key)
        self.assertNotIn(key.read_bytes(), self.set.read_bytes())
        self.refused("add", "-q", self.set, told="secret key is kept elsewhere", lines=NEW)
        self.refused("add", "-q", "--key-file", wrong, self.set, told="another secret key",
                     lines=NEW)
        self.refused("seal", self.set, told="secret key is kept elsewhere")
        run("add", "-q", "--key-file", key, self.set, lines=NEW)
        run("verify", self.set)
        self.assertEqual(self.has(OLD + NEW, None, "--key-file", key), 4000)
        run("seal", "-q", "--key-file", key, self.set)
        self.assertNotIn(key.read_bytes(), self.set.read_bytes())
        self.refused("check", self.set, told="secret key is kept elsewhere", lines=NEW)
        self.assertEqual(self.has(OLD + NEW, None, "--key-file", key), 4000)
        plain = self.build(self.folder / "plain")
        self.refused("add", "-q", "--key-file", key, plain, told="is not hardened", lines=NEW)
        own = self.build(self.folder / "own", "blocked", "--hardened")
        self.assertEqual(own.stat().st_mode & 0o777, 0o600)
        run("add", "-q", own, lines=NEW)

    def test_an_ordinary_file_and_no_file(self):
        run("build", "-q", "-o", self.set, lines=OLD)
        self.refused("seal", self.set, told="is an ordinary set file already")
        self.refused("seal", self.folder / "none", told="No such file")
        self.refused("seal", self.folder, told="directory")
        text = self.folder / "text"
        text.write_bytes(b"".join(OLD))
        self.refused("seal", text, told="is not a bloomery image")
        run("add", "-q", self.set, lines=NEW)  # as ever
        self.assertEqual(self.has(OLD + NEW), 4000)

    def test_what_cannot_be_live(self):
        for kind in ("fuse", "ribbon"):
            self.refused("build", "--live", "--kind", kind, "-o", self.set, lines=OLD,
                         told="cannot be live")
        self.refused("build", "--live", "--allow", os.devnull, "-o", self.set, lines=OLD,
                     told="cannot be live")
        self.refused("build", "--live", "-o", "redis://localhost/0/x", lines=OLD, told="--live")

    def test_removing(self):
        self.build(kind="counting")
        run("remove", "-q", self.set, lines=OLD[:1000])
        self.assertEqual(self.has(OLD[:1000]), 0)
        self.assertEqual(self.has(OLD), 1000)
        self.refused("remove", "--strict", self.set, told="leave --strict out", lines=OLD)
        numbers = [b"%d\n" % i for i in range(100)]
        run("build", "-q", "-f", "--live", "--kind", "bitmap", "--range", "0..99", "-o", self.set,
            lines=numbers)
        self.refused("remove", "-q", self.set, told="seal it", lines=numbers)
        two_bit = self.folder / "two-bit"
        run("build", "-q", "--live", "--kind", "two-bit", "--range", "0..99", "-o", two_bit,
            lines=numbers)
        run("remove", "-q", two_bit, lines=numbers[:50])
        self.assertEqual(self.has(numbers, two_bit), 50)
        self.refused("add", "-q", self.set, told="outside the range", lines=[b"5\n", b"100\n"])
        run("seal", "-q", self.set)
        run("remove", "-q", self.set, lines=numbers[:50])
        self.assertEqual(self.has(numbers), 50)
        self.build()
        self.assertNotIn("seal it", self.refused("remove", self.set, told="counting", lines=OLD))

    def test_a_refused_line_leaves_what_came_before(self):
        self.build(None, "cuckoo")
        full = run("add", "-q", self.set, lines=[b"n%d\n" % i for i in range(300_000)], status=2)
        told = re.search(rb"the set is full; .* ([0-9,]+) lines of this run went in", full.stderr)
        self.assertEqual(int(told[1].replace(b",", b"")), self.info()["keys"] - len(OLD))
        self.assertEqual(self.has(OLD + [b"n%d\n" % i for i in range(1000)]), 3000)
        run("verify", self.set)

    def test_a_set_that_gets_no_memory_is_not_full(self):
        def narrow():
            resource.setrlimit(resource.RLIMIT_AS, (60 << 20, 60 << 20))
        if run("--version", status=None, preexec_fn=narrow).returncode != 0:
            return  # a sanitizer needs more for itself
        lines = [b"%d\n" % i for i in range(3_000_000)]
        for words in (["--live"], []):
            with self.subTest(words=words):
                run("build", "-q", "-f", "--kind", "hash-set", *words, "-o", self.set, lines=OLD)
                err = run("add", "-q", self.set, lines=lines, status=2, preexec_fn=narrow).stderr
                self.assertIn(b"no more memory is allowed, or the system gives none", err)
                self.assertNotIn(b"full", err)
                self.assertEqual(self.has(OLD), 2000)
                line = int(re.search(rb"(?:before|from) (\d+) of standard input", err)[1])
                self.assertEqual(self.has(lines[:line]), line - 1 if words else 0)

    def test_a_set_that_is_read_with_little_memory(self):
        """Its log is refused, or read whole: no key is absent because there was no room for it."""
        lines = [b"%d\n" % i for i in range(300_000)]
        run("build", "-q", "--live", "--kind", "hash-set", "-o", self.set)
        run("add", "-q", self.set, lines=lines)
        file = self.folder / "lines"
        file.write_bytes(b"".join(lines))
        for megabytes in range(20, 60, 3):
            def narrow(most=megabytes << 20):
                resource.setrlimit(resource.RLIMIT_AS, (most, most))
            if run("--version", status=None, preexec_fn=narrow).returncode != 0:
                continue
            found = run("check", "-c", self.set, file, status=None, preexec_fn=narrow)
            if found.returncode != 2:
                self.assertEqual(found.stdout, b"300000\n", megabytes)


if __name__ == "__main__":
    unittest.main(verbosity=2)
