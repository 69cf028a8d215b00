"""A real crawl of a local site by Debian's Scrapy: stopped, killed, resumed, shared."""
import collections
import http.server
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import bloomery
from bloomery.scrapy import DupeFilter, JobState
from redis_test import Server
from scrapy import Request
from scrapy.utils.test import get_crawler

PAGES = 60

SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess

class Site(scrapy.Spider):
    name = 'site'
    def start_requests(self):
        yield scrapy.Request(self.url)
    def parse(self, response):
        for link in response.css('a::attr(href)').getall():
            yield response.follow(link)

settings = {
    'DUPEFILTER_CLASS': 'bloomery.scrapy.DupeFilter',
    'LOG_LEVEL': 'ERROR', 'TELNETCONSOLE_ENABLED': False, 'CONCURRENT_REQUESTS': 4,
    'CONCURRENT_REQUESTS_PER_DOMAIN': 4, 'REQUEST_FINGERPRINTER_IMPLEMENTATION': '2.7',
}
settings.update(arg.split('=', 1) for arg in sys.argv[2:])
process = CrawlerProcess(settings)
process.crawl(Site, url=sys.argv[1])
process.start()
"""


class Site:
    """Every page links to seven others; counts who was fetched."""

    def __init__(self, delay=0.0):
        self.fetched = collections.Counter()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                site.fetched[self.path] += 1
                time.sleep(site.delay)
                number = int(self.path[1:] or 0)
                links = {(number * 7 + i + 1) % PAGES for i in range(7)}
                body = "".join(f'<a href="/{link}">{link}</a>' for link in links).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass  # the crawl was killed meanwhile

            def log_message(self, *_):
                pass

        self.delay = delay
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/0"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for(self, pages):
        end = time.monotonic() + 60
        while len(self.fetched) < pages:
            if time.monotonic() > end:
                raise AssertionError(f"only {len(self.fetched)} pages were fetched")
            time.sleep(0.01)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Crawls(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        (self.path / "spider.py").write_text(SPIDER)
        self.job = self.path / "job"

    def crawl(self, site, *settings):
        return subprocess.Popen(
            [sys.executable, self.path / "spider.py", site.url, *settings],
            cwd=self.path, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def finish(self, crawl):
        _, said = crawl.communicate(timeout=60)
        self.assertEqual((crawl.returncode, said.decode()), (0, ""))

    def make_site(self, delay=0.0):
        site = Site(delay)
        self.addCleanup(site.close)
        return site

    def test_a_crawl_that_is_stopped_goes_on_with_the_rest(self):
        site = self.make_site(0.02)
        crawl = self.crawl(site, f"JOBDIR={self.job}")
        site.wait_for(20)
        crawl.send_signal(signal.SIGINT)
        crawl.communicate(timeout=60)
        self.assertLess(len(site.fetched), PAGES)
        site.delay = 0
        self.finish(self.crawl(site, f"JOBDIR={self.job}"))
        self.assertEqual(len(site.fetched), PAGES)
        self.assertEqual(set(site.fetched.values()), {1})
        seen = bloomery.Set.open(self.job / "requests.set")
        self.assertEqual(len(seen), PAGES)
        self.assertEqual((self.job / "requests.journal").stat().st_size, 0)

    def test_a_crawl_that_is_killed_fetches_no_page_twice(self):
        site = self.make_site(0.02)
        crawl = self.crawl(site, f"JOBDIR={self.job}")
        site.wait_for(20)
        crawl.kill()
        crawl.communicate(timeout=60)
        self.assertFalse((self.job / "requests.set").exists())
        before = dict(site.fetched)
        # Whoever asks for all pages gets those that nobody had asked for.
        (self.path / "spider.py").write_text(SPIDER.replace(
            "yield scrapy.Request(self.url)",
            f"yield from (scrapy.Request(self.url[:-1] + str(n)) for n in range({PAGES}))"))
        site.delay = 0
        self.finish(self.crawl(site, f"JOBDIR={self.job}"))
        self.assertEqual({page: site.fetched[page] for page in before}, before)
        self.assertEqual(set(site.fetched.values()), {1})
        self.assertGreater(len(site.fetched), len(before))

    def test_crawlers_share_a_set_on_a_redis_server(self):
        server = Server()
        self.addCleanup(server.stop)
        site = self.make_site()
        where = f"BLOOMERY_URL={server.url('crawl')}"
        self.finish(self.crawl(site, where, "BLOOMERY_KEYS=10000"))
        self.assertEqual((len(site.fetched), set(site.fetched.values())), (PAGES, {1}))
        # Another crawler with the same set, without the crawl.
        other = DupeFilter.from_crawler(get_crawler(settings_dict={
            "BLOOMERY_URL": server.url("crawl"), "BLOOMERY_KEYS": 10000,
            "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7"}))
        self.assertTrue(other.request_seen(Request(site.url)))
        self.assertFalse(other.request_seen(Request(site.url + "?new")))
        other.close("finished")

    def test_a_state_that_was_cut_loses_only_the_last_key(self):
        self.job.mkdir()
        make = lambda: bloomery.Set(kind="compact")
        state = JobState(self.job, make)
        keys = [bytes([i]) * 20 for i in range(50)]
        self.assertEqual([state.add(key) for key in keys + keys], [True] * 50 + [False] * 50)
        with self.assertRaisesRegex(RuntimeError, "another crawl"):
            JobState(self.job, make)
        os.close(state.journal)
        os.truncate(self.job / "requests.journal", 49 * 20 + 7)
        again = JobState(self.job, make)
        self.assertEqual([again.add(key) for key in keys], [False] * 49 + [True])
        again.checkpoint()
        again.add(b"x" * 20)
        os.close(again.journal)
        last = JobState(self.job, make)
        self.assertFalse(any(last.add(key) for key in [*keys, b"x" * 20]))
        last.close()
        self.assertEqual(len(bloomery.Set.open(self.job / "requests.set")), 51)


if __name__ == "__main__":
    unittest.main()
