"""A duplicate filter for Scrapy that remembers in a few bytes a request, from run to run.

    # settings.py
    DUPEFILTER_CLASS = 'bloomery.scrapy.DupeFilter'

With a job directory (JOBDIR) the set is the live file requests.live there: a request is in it
before it is queued, so a crawl that is killed (kill -9) and run again fetches nothing that it had
asked for. Without one the set is forgotten at the end.

Settings, all optional:

    BLOOMERY_STATE  path of a live file instead of the one in the job directory: any number of
                    spiders and crawls on this machine share it, and no page is fetched by two
    BLOOMERY_URL    redis://host/0/name: the set lives on that server, for many machines
    BLOOMERY_KIND   kind of a set that is made: 'compact', which grows and is wrong about once in
                    2^64 / n
    BLOOMERY_KEYS   how many requests to expect, for kinds that do not grow
    BLOOMERY_RATE   false-positive rate, for kinds that take one

If the set is wrong, a page is not fetched.
Limits: the file lies on a local disk. `bloomery info` and `bloomery check` read it at any time.
"""
import os

from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.job import job_dir

from bloomery._bloomery import Error, Exists, Set

# Requests that this process adds between two checkpoints, which shorten a log that has become long.
CHECKPOINT = 1 << 18


class State:
    """A live file, made by whoever comes first."""

    def __init__(self, path, make):
        if not os.path.exists(path):
            try:
                make().save(path, live=True)
            except Exists:
                pass  # another crawl was quicker
        self.seen = Set.open(path, live=True)
        self.added = 0

    def add(self, key):
        new = self.seen.add(key)
        self.added += new
        if self.added >= CHECKPOINT:
            self.added = 0
            self.seen.checkpoint()
        return new

    def close(self):
        try:
            self.seen.checkpoint()
        finally:
            self.seen.close()


class DupeFilter(RFPDupeFilter):
    """As Scrapy's own, which it extends: the same requests are the same, the same log."""

    def __init__(self, path=None, debug=False, *, make=None, url=None, state=None, **named):
        super().__init__(None, debug, **named)
        make = make or Maker()
        if url and state:
            raise ValueError("BLOOMERY_URL and BLOOMERY_STATE exclude each other: leave one out")
        if url:
            from bloomery.redis import RedisSet

            self.seen = RedisSet(url, **make.named)
        elif state or path:
            state = state or os.path.join(path, "requests.live")
            os.makedirs(os.path.dirname(os.path.abspath(state)), exist_ok=True)
            self.seen = State(state, make)
        else:
            self.seen = make()

    @classmethod
    def from_settings(cls, settings, *, fingerprinter=None):
        return cls(
            job_dir(settings),
            settings.getbool("DUPEFILTER_DEBUG"),
            fingerprinter=fingerprinter,
            make=Maker(
                settings.get("BLOOMERY_KIND"),
                settings.getint("BLOOMERY_KEYS"),
                settings.getfloat("BLOOMERY_RATE"),
            ),
            url=settings.get("BLOOMERY_URL"),
            state=settings.get("BLOOMERY_STATE"),
        )

    def request_seen(self, request):
        return not self.seen.add(self.fingerprinter.fingerprint(request))

    def close(self, reason):
        if self.seen is not None:
            self.seen.close()
            self.seen = None


class Maker:
    """Makes the set that the settings ask for."""

    def __init__(self, kind=None, keys=0, rate=0.0):
        self.kind = kind or "compact"
        self.named = {}
        if keys:
            self.named["keys"] = keys
        if rate:
            self.named["rate"] = rate

    def __call__(self):
        try:
            return Set(kind=self.kind, **self.named)
        except Error as refused:
            raise ValueError(
                f"BLOOMERY_KIND, BLOOMERY_KEYS and BLOOMERY_RATE do not fit: {refused}"
            ) from None
