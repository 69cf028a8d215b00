"""A duplicate filter for Scrapy that remembers in a few bytes a request, from run to run.

    # settings.py
    DUPEFILTER_CLASS = 'bloomery.scrapy.DupeFilter'

With a job directory (JOBDIR) two files there remember:

    requests.set       a set file, as of the last checkpoint; `bloomery info` reads it
    requests.journal   20 bytes for each request since then, written at once

so a crawl that is killed and run again fetches nothing that it had asked for. Without one the set
is forgotten at the end.

Settings, all optional:

    BLOOMERY_KIND   kind of the set: 'compact', which grows and is wrong about once in 2^64 / n
    BLOOMERY_KEYS   how many requests to expect, for kinds that do not grow
    BLOOMERY_RATE   false-positive rate, for kinds that take one
    BLOOMERY_URL    redis://host/0/name: the set lives on that server, and many crawlers share it

If the set is wrong, a page is not fetched.
Limits: one crawl at a time in a job directory; a second is refused.
"""
import fcntl
import os
from pathlib import Path

from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.job import job_dir

from bloomery._bloomery import Error, Set

# Requests between two checkpoints: a journal of at most 5 MiB.
CHECKPOINT = 1 << 18


class JobState:
    """A set in a job directory that survives kill -9 at any moment.

    The journal is emptied only after the set file has its name; what a killed run leaves in both
    is added twice, which changes nothing.
    """

    def __init__(self, folder, make, key_bytes=20):
        self.path = Path(folder) / "requests.set"
        self.key_bytes = key_bytes
        self.journal = os.open(
            Path(folder) / "requests.journal", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666
        )
        try:
            fcntl.flock(self.journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.seen = Set.open(self.path) if self.path.exists() else make()
            self.waiting = self._replay()
        except BlockingIOError:
            os.close(self.journal)
            raise RuntimeError(
                f"another crawl is using {folder}: wait for its end, or give another JOBDIR"
            ) from None
        except BaseException:
            os.close(self.journal)
            raise

    def _replay(self):
        size = os.fstat(self.journal).st_size
        whole = size - size % self.key_bytes
        if whole != size:  # killed in the middle of a write
            os.ftruncate(self.journal, whole)
        written = os.pread(self.journal, whole, 0)
        keys = [written[i : i + self.key_bytes] for i in range(0, whole, self.key_bytes)]
        self.seen.update(keys)
        return len(keys)

    def add(self, key):
        if key in self.seen:
            return False
        # Journal first: a request that is not in it was never asked for.
        if os.write(self.journal, key) != len(key):
            raise OSError(f"the journal of {self.path} could not be written: is the disk full?")
        self.seen.add(key)
        self.waiting += 1
        if self.waiting >= CHECKPOINT:
            self.checkpoint()
        return True

    def checkpoint(self):
        self.seen.save(self.path)
        os.ftruncate(self.journal, 0)
        self.waiting = 0

    def close(self):
        self.checkpoint()
        os.close(self.journal)


class DupeFilter(RFPDupeFilter):
    """As Scrapy's own, which it extends: the same requests are the same, the same log."""

    def __init__(self, path=None, debug=False, *, make=None, url=None, **named):
        super().__init__(None, debug, **named)
        self.state = None
        self.seen = None
        if url:
            from bloomery.redis import RedisSet

            self.seen = RedisSet(url, **(make.named if make else {}))
        elif path:
            os.makedirs(path, exist_ok=True)
            self.state = JobState(path, make or Maker())
        else:
            self.seen = (make or Maker())()

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
        )

    def request_seen(self, request):
        key = self.fingerprinter.fingerprint(request)
        return not (self.state or self.seen).add(key)

    def close(self, reason):
        if self.state is not None:
            self.state.close()
            self.state = None
        elif self.seen is not None:
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
