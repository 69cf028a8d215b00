"""examples/crawler_frontier on real Redis servers: workers that share a web, and are killed.

Pages are numbers. Each link is one of many spellings of a page, and the number can be read off
any of them, so the oracle needs no normalisation: a search through the graph of the numbers.
"""
import collections
import json
import os
import random
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from redis_cluster import RedisCluster
from redis_server import RedisServer

FRONTIER = Path(os.environ["BLOOMERY_EXAMPLES"]) / "example_crawler_frontier"
BLOOMERY = os.environ["BLOOMERY"]
SEED = 20261115
PAGES = 200_000
# Of about a million and a half questions none shall be answered wrongly by chance.
SURE = ("--rate", "1e-9")
NUMBER = re.compile(r"/p(\d+)")


def page_of(url):
    return int(NUMBER.search(url)[1])


def spelling(page, choose):
    """One of the ways to write the URL of a page that are one to the profile crawl/1."""
    scheme, port = choose.choice(
        (("http", ""), ("HTTP", ":80"), ("https", ""), ("https", ":443"), ("http", ":080"))
    )
    host = f"site{page % 997}.example.com"
    host = choose.choice((host, host.upper(), "www." + host, host.title(), host + "."))
    user = choose.choice(("~u", "%7eu", "%7Eu", "%7e%75")) + str(page % 50)
    path = choose.choice((f"/{user}/p{page}", f"/./{user}/p{page}", f"/x/../{user}/p{page}"))
    path += choose.choice(("", "", "/", "/index.html", ";jsessionid=A1"))
    arguments = [f"v={page % 3}", "lang=en"]
    if choose.random() < 0.4:
        arguments += choose.sample(("utm_source=feed", "gclid=Zz9", "PHPSESSID=77", ""), 2)
    choose.shuffle(arguments)
    fragment = choose.choice(("", "", "#top", "#a?b"))
    return f"{scheme}://{host}{port}{path}?{'&'.join(arguments)}{fragment}"


class Web:
    """Pages 0 to pages - 1; some links lead to pages that do not exist, some pages have no link
    to them."""

    def __init__(self, folder, pages, seed=SEED):
        choose = random.Random(seed)
        self.links = {}
        self.file = Path(folder) / f"web{pages}"
        hidden = pages // 100
        with open(self.file, "w", encoding="ascii") as file:
            for page in range(pages):
                tree = [n for n in range(3 * page + 1, 3 * page + 4) if n < pages - hidden]
                more = [choose.randrange(pages - hidden) for _ in range(4)]
                if page % 500 == 0:
                    more.append(pages + page)
                self.links[page] = tree + more
                written = [spelling(n, choose) for n in self.links[page]] + ["mailto:x@y.z"]
                choose.shuffle(written)
                file.write(f"{spelling(page, choose)}\t{' '.join(written)}\n")
        self.seeds = [spelling(0, choose), spelling(0, choose)]

    def reachable(self):
        found, waiting = {0}, [0]
        while waiting:
            for page in self.links.get(waiting.pop(), ()):
                if page not in found:
                    found.add(page)
                    waiting.append(page)
        return found


class Worker:
    def __init__(self, name, url, web, *flags, output):
        self.output = output
        with open(output, "wb") as out:
            self.process = subprocess.Popen(
                [FRONTIER, "--frontier", url, "--graph", web.file, "--worker", name, "--json"]
                + list(flags) + web.seeds,
                stdout=out, stderr=subprocess.PIPE, text=True,
            )

    def printed(self):
        """Whole lines only: the page of one that was cut is in hand."""
        text = self.output.read_text(encoding="ascii")
        return [page_of(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def wait_for_pages(self, pages):
        end = time.monotonic() + 300
        while self.process.poll() is None and self.output.read_bytes().count(b"\n") < pages:
            assert time.monotonic() < end, "the worker is stuck"
            time.sleep(0.005)
        assert self.process.poll() is None, ("it ended too soon", self.process.stderr.read())

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def end(self, code=0):
        """The report; of one that failed, what it said. One that was stopped ends with 3."""
        said = self.process.communicate(timeout=240)[1]
        assert self.process.returncode == code, (self.process.returncode, said)
        if code not in (0, 3):
            return said
        print(said.strip(), flush=True)
        return json.loads(said)


class CrawlerFrontierTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"seed {SEED}", flush=True)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.server = RedisServer()
        cls.addClassCleanup(cls.server.stop)
        cls.small = Web(cls.folder, 20_000)

    def setUp(self):
        self.name = self.id().rpartition(".")[2]
        self.started = 0

    def url(self, server=None, more=""):
        return f"redis://127.0.0.1:{(server or self.server).port}/0/{self.name}{more}"

    def start(self, worker, web, *flags, url=None):
        self.started += 1
        one = Worker(worker, url or self.url(), web, "--keys", str(2 * PAGES), *SURE, *flags,
                     output=self.folder / f"{self.name}.{self.started}")
        self.addCleanup(one.process.stderr.close)
        self.addCleanup(one.process.wait)
        self.addCleanup(one.process.kill)
        return one

    def list_of(self, key):
        """Pages in a list of the queue."""
        joined = self.server.command(
            "EVAL", r"return table.concat(redis.call('LRANGE', KEYS[1], 0, -1), '\n')", 1,
            f"{{{self.name}}}:{key}",
        )
        return [page_of(line) for line in joined.decode().split("\r\n")[1].splitlines()]

    def check_once(self, web, workers, in_hand=()):
        """Every page that can be reached, once; those in hand at a kill perhaps once more each."""
        times = collections.Counter(page for one in workers for page in one.printed())
        self.assertEqual(set(times), web.reachable())
        allowed = collections.Counter(in_hand)
        repeated = {page: n for page, n in times.items() if n > 1 + allowed[page]}
        self.assertEqual(repeated, {})
        return sum(times.values()) - len(times)

    def test_each_page_once_though_a_worker_is_killed_again_and_again(self):
        web = Web(self.folder, PAGES)
        steady = self.start("steady", web)
        workers = [steady]
        steady.wait_for_pages(2_000)  # there is enough for two from now on
        held, journals = [], []
        for _ in range(5):
            # Both shall be at work when it is killed, however slowly it starts.
            steady.process.send_signal(signal.SIGSTOP)
            mortal = self.start("mortal", web)
            workers.append(mortal)
            mortal.wait_for_pages(1)
            steady.process.send_signal(signal.SIGCONT)
            mortal.wait_for_pages(4_000)
            mortal.kill()
            time.sleep(0.2)  # what it sent last may still be on its way into the server
            held.append(self.list_of("working:mortal"))
            journals.append(self.list_of("found:mortal"))
        workers.append(self.start("mortal", web))
        reports = [one.end() for one in (workers[-1], steady)]
        in_hand = [page for each in held + journals for page in each]
        repeats = self.check_once(web, workers, in_hand)
        print(f"in hand at the kills {[*map(len, held)]}, in the journal {[*map(len, journals)]}, "
              f"crawled again {repeats}", flush=True)
        self.assertGreater(len(in_hand), 0)
        self.assertEqual(reports[0]["retaken"], len(held[-1]))
        self.assertLessEqual(reports[0]["in_doubt"], len(journals[-1]))
        self.assertEqual([reports[1]["in_doubt"], reports[1]["retaken"]], [0, 0])
        for report in reports:
            self.assertGreater(report["crawled"], 0)
            # One mailto: on each page that exists.
            self.assertLessEqual(report["refused"], report["crawled"])
            self.assertLess(report["rate"], 1e-9)

        # All is done: whoever comes now finds nothing to do.
        late = self.start("late", web)
        report = late.end()
        self.assertEqual(late.printed(), [])
        self.assertEqual([report[n] for n in ("crawled", "discovered", "repeats")], [0, 0, 2])

    def test_a_worker_that_never_comes_back_is_taken_over(self):
        mortal = self.start("mortal", self.small, "--lease", "1500")
        mortal.wait_for_pages(3_000)
        mortal.kill()
        time.sleep(0.2)
        held = self.list_of("working:mortal")
        journal = self.list_of("found:mortal")
        heir = self.start("heir", self.small, "--lease", "1500")
        report = heir.end()
        self.check_once(self.small, [mortal, heir], held + journal)
        self.assertEqual(report["retaken"], len(held))
        self.assertEqual(self.list_of("working:mortal") + self.list_of("found:mortal"), [])

    def test_a_link_that_was_marked_and_not_queued_is_crawled(self):
        self.start("first", self.small).end()
        lost = "http://site.example.com/p999999"
        subprocess.run([BLOOMERY, "add", self.url()], input=lost.encode(), check=True,
                       capture_output=True)
        self.server.command("RPUSH", f"{{{self.name}}}:found:dead", lost)
        self.server.command("HSET", f"{{{self.name}}}:frontier", "found:dead", 1)
        heir = self.start("heir", self.small)
        report = heir.end()
        self.assertEqual(heir.printed(), [999999])
        self.assertEqual([report["crawled"], report["in_doubt"]], [1, 1])

    def test_a_worker_whose_name_is_taken_stops(self):
        first = self.start("same", self.small)
        first.wait_for_pages(2_000)
        self.server.command("SET", f"{{{self.name}}}:lease:same", "somebody else")
        self.assertIn("another process is the worker same", first.end(code=2))
        held = self.list_of("working:same") + self.list_of("found:same")
        second = self.start("same", self.small)
        second.end()
        self.check_once(self.small, [first, second], held)

    def test_sigterm_leaves_nothing_in_hand(self):
        first = self.start("first", self.small)
        first.wait_for_pages(2_000)
        first.process.send_signal(signal.SIGTERM)
        report = first.end(code=3)
        self.assertIs(report["complete"], False)
        self.assertEqual(report["crawled"], len(first.printed()))
        second = self.start("second", self.small)
        report = second.end()
        self.assertIs(report["complete"], True)
        self.assertEqual(report["retaken"], 0)
        self.check_once(self.small, [first, second])

    def delete(self, key, worker):
        """From under a worker that runs, at a moment when the key is there."""
        deleted = b""
        while deleted != b":1\r\n":
            self.assertIsNone(worker.process.poll(), "it ended before the key was there")
            worker.process.send_signal(signal.SIGSTOP)
            time.sleep(0.02)  # what it sent last may still be on its way into the server
            deleted = self.server.command("DEL", f"{{{self.name}}}:{key}")
            worker.process.send_signal(signal.SIGCONT)
            time.sleep(random.random() / 100)

    def test_a_queue_that_was_deleted_is_lost(self):
        for key in ("todo", "working:w", "frontier"):
            with self.subTest(key=key):
                worker = self.start("w", self.small)
                worker.wait_for_pages(1_000)
                self.delete(key, worker)
                said = worker.end(code=2)
                self.assertIn("was lost, and the crawl is not complete", said)
                self.assertEqual(said.count("\n"), 1)
                # Nor does another start take what is left for a crawl that is complete.
                self.assertIn("was lost", self.start("w", self.small).end(code=2))
                self.name += "2"

    def test_a_lease_that_was_deleted_is_no_loss(self):
        worker = self.start("w", self.small)
        worker.wait_for_pages(1_000)
        self.delete("lease:w", worker)
        worker.end()
        self.check_once(self.small, [worker])

    def test_what_a_dead_worker_had_in_hand_was_deleted(self):
        for key in ("working:dead", "found:dead"):
            with self.subTest(key=key):
                self.server.command("RPUSH", f"{{{self.name}}}:{key}", "http://a.example.com/p7")
                self.start("first", self.small).end()
                self.server.command("HSET", f"{{{self.name}}}:frontier", key, 2)
                self.assertIn("was lost", self.start("heir", self.small).end(code=2))
                self.name += "2"

    def test_a_server_that_was_flushed_is_no_crawl_that_is_complete(self):
        for how in ("FLUSHALL", "FLUSHDB", "restart"):
            with self.subTest(how=how), RedisServer() as server:
                # Both shall be at work then: b cannot end while pages are in the hand of a.
                first = self.start("a", self.small, url=self.url(server))
                first.wait_for_pages(1_000)
                first.process.send_signal(signal.SIGSTOP)
                second = self.start("b", self.small, url=self.url(server))
                second.wait_for_pages(100)
                if how == "restart":
                    server.kill()
                    server.start()
                else:
                    server.command(how)
                first.process.send_signal(signal.SIGCONT)
                for one in (first, second):  # whether set or queue is missed first is chance
                    self.assertRegex(one.end(code=2), "frontier .* was lost|is gone")
                anew = self.start("a", self.small, url=self.url(server))
                self.assertIs(anew.end()["complete"], True)
                self.check_once(self.small, [anew])

    def test_another_frontier_in_the_place_of_ours(self):
        worker = self.start("w", self.small)
        worker.wait_for_pages(1_000)
        self.server.command("HSET", f"{{{self.name}}}:frontier", "token", "another")
        self.assertIn("restarted by another program", worker.end(code=2))

    def test_a_set_that_is_gone_while_the_queue_is_not(self):
        with RedisServer() as other:
            flags = ("--set", self.url(other))
            first = self.start("w", self.small, *flags)
            first.wait_for_pages(1_000)
            first.process.send_signal(signal.SIGTERM)
            first.end(code=3)
            other.command("FLUSHALL")
            self.assertIn("its set is gone", self.start("w", self.small, *flags).end(code=2))
            # Nor is one that somebody has made since.
            subprocess.run([BLOOMERY, "build", "--keys", "100", "--normalize", "crawl", "-o",
                            self.url(other)], input=b"x\n", check=True, capture_output=True)
            self.assertIn("its set was made again",
                          self.start("w", self.small, *flags).end(code=2))

    def test_help(self):
        for flag in ("--help", "-h"):
            ran = subprocess.run([FRONTIER, flag], capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            for word in ("--frontier", "--graph", "--worker", "--keys", "--rate", "--set",
                         "--lease", "--json", "SEED_URL", "Exit codes"):
                self.assertIn(word, ran.stdout)

    def test_pages_are_lost_at_the_stated_rate_at_most(self):
        leaves = 50_000
        web = Web(self.folder, 1)
        web.file.write_text(web.seeds[0] + "\t" + " ".join(
            f"http://h{n % 97}.example.com/p{n}" for n in range(1, leaves + 1)) + "\n")
        one = self.start("one", web, "--keys", str(leaves), "--rate", "0.01")
        report = one.end()
        pages = one.printed()
        self.assertEqual(len(pages), len(set(pages)))
        lost = leaves + 1 - len(pages)
        self.assertGreater(lost, 0)
        self.assertLess(lost, 0.01 * leaves)
        self.assertEqual(report["discovered"], len(pages))
        self.assertEqual(report["repeats"], lost + 1)

    def test_a_server_that_crashes_and_comes_back(self):
        with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
            workers = [self.start(name, self.small, url=self.url(server)) for name in "ab"]
            workers[0].wait_for_pages(3_000)
            server.kill()
            time.sleep(0.5)
            server.start()
            reports = [one.end() for one in workers]
            in_doubt = sum(report["in_doubt"] for report in reports)
            times = collections.Counter(page for one in workers for page in one.printed())
            self.assertEqual(set(times), self.small.reachable())
            self.assertLessEqual(sum(times.values()) - len(times), in_doubt)

    def test_a_server_that_is_gone_for_good_and_a_new_start(self):
        with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
            url = self.url(server, "?timeout=500ms")
            first = self.start("one", self.small, url=url)
            first.wait_for_pages(3_000)
            server.kill()
            self.assertIn("crawler_frontier: ", first.end(code=2))
            server.start()
            second = self.start("one", self.small, url=url)
            report = second.end()
            times = collections.Counter(page for x in (first, second) for page in x.printed())
            self.assertEqual(set(times), self.small.reachable())
            self.assertLessEqual(sum(times.values()) - len(times),
                                 report["retaken"] + report["in_doubt"])

    def test_on_a_cluster(self):
        cluster = RedisCluster(masters=3, replicas=0)
        self.addCleanup(cluster.stop)
        workers = [self.start(name, self.small, url=self.url(cluster)) for name in "abc"]
        for one in workers:
            one.end()
        self.check_once(self.small, workers)

    def test_what_can_not_be_is_refused(self):
        def refused(*words):
            ran = subprocess.run([FRONTIER, *words], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 2, ran.stderr)
            return ran.stderr

        rest = ("--graph", self.small.file, "--worker", "w", *self.small.seeds)
        self.assertIn("are needed", refused("--worker", "w"))
        self.assertIn("cannot have a ttl", refused("--frontier", self.url(more="?ttl=1h"), *rest))
        self.assertIn("takes a number above 0", refused("--keys", "-3"))
        self.assertIn("unknown option", refused("--nonsense", "3"))
        self.assertIn("cannot be read", refused("--frontier", self.url(), "--graph", "/no/such",
                                                 "--worker", "w", *self.small.seeds))
        self.assertIn("yet: begin it with a SEED_URL",
                      refused("--frontier", self.url(more=".none"), *rest[:4]))
        other = self.url() + ".other"
        subprocess.run([BLOOMERY, "build", "--keys", "100", "--normalize", "case", "-o", other],
                       input=b"x\n", check=True, capture_output=True)
        self.assertIn("has other keys than crawl/1", refused("--frontier", other, *rest))


if __name__ == "__main__":
    unittest.main()
