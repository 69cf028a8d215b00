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
from bloomery.scrapy import DupeFilter, Maker, State
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
        with bloomery.Set.open(self.job / "requests.live", live=True) as seen:
            self.assertEqual((len(seen), seen.adds), (PAGES, PAGES))
            self.assertFalse(seen.recovery["was_cut"])

    def test_a_crawl_that_is_killed_fetches_no_page_twice(self):
        site = self.make_site(0.02)
        crawl = self.crawl(site, f"JOBDIR={self.job}")
        site.wait_for(20)
        crawl.kill()
        crawl.communicate(timeout=60)
        before = dict(site.fetched)
        with bloomery.Set.open(self.job / "requests.live", live=True) as seen:
            self.assertTrue(seen.recovery["was_cut"])
            self.assertGreaterEqual(seen.adds, len(before))
        # Whoever asks for all pages gets those that nobody had asked for.
        self.ask_for_all_pages()
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

    def ask_for_all_pages(self):
        (self.path / "spider.py").write_text(SPIDER.replace(
            "yield scrapy.Request(self.url)",
            f"yield from (scrapy.Request(self.url[:-1] + str(n)) for n in range({PAGES}))"))

    def test_crawls_that_share_a_state_fetch_no_page_twice_when_one_is_killed(self):
        site = self.make_site(0.02)
        self.ask_for_all_pages()
        where = f"BLOOMERY_STATE={self.path / 'shared' / 'pages.live'}"
        crawls = [self.crawl(site, where, f"JOBDIR={self.path / str(n)}") for n in range(3)]
        site.wait_for(10)
        crawls[0].kill()
        crawls[0].communicate(timeout=60)
        site.delay = 0
        for crawl in crawls[1:]:
            self.finish(crawl)
        # All that the others had not asked for was the killed one's, and is not asked for again.
        self.assertEqual(set(site.fetched.values()), {1})
        fetched = len(site.fetched)
        self.assertGreater(fetched, 10)
        self.finish(self.crawl(site, where))
        self.assertEqual((len(site.fetched), set(site.fetched.values())), (fetched, {1}))

    def test_spiders_of_one_process_share_a_state(self):
        site = self.make_site()
        (self.path / "spider.py").write_text(SPIDER.replace(
            "process.crawl(Site, url=sys.argv[1])",
            "[process.crawl(Site, url=sys.argv[1]) for _ in range(3)]").replace(
            "yield scrapy.Request(self.url)",
            f"yield from (scrapy.Request(self.url[:-1] + str(n)) for n in range({PAGES}))"))
        self.finish(self.crawl(site, f"BLOOMERY_STATE={self.path / 'pages.live'}"))
        self.assertEqual((len(site.fetched), set(site.fetched.values())), (PAGES, {1}))

    def test_a_state_is_made_once_and_shortened(self):
        path = self.path / "pages.live"
        made = []

        def make():
            made.append(1)
            return bloomery.Set(kind="compact")

        one, other = State(path, make), State(path, make)
        keys = [n.to_bytes(20, "big") for n in range(2000)]
        self.assertEqual([one.add(key) for key in keys], [True] * 2000)
        self.assertEqual([other.add(key) for key in keys], [False] * 2000)
        self.assertEqual(len(made), 1)
        one.close()
        self.assertTrue(other.add(b"x" * 20))
        other.close()
        self.assertEqual(bloomery.Set.open(path).adds, 2001)

    def test_settings_that_do_not_fit(self):
        with self.assertRaisesRegex(ValueError, "exclude"):
            DupeFilter(url="redis://localhost/0/x", state="y", fingerprinter=self)
        with self.assertRaisesRegex(ValueError, "BLOOMERY_KIND"):
            DupeFilter(make=Maker("no-such-kind"), fingerprinter=self)
        (self.path / "text").write_text("no set")
        with self.assertRaises(bloomery.NotOurs):
            DupeFilter(state=str(self.path / "text"), fingerprinter=self)


if __name__ == "__main__":
    unittest.main()
