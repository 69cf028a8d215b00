"""examples/cache_guard on a real Redis and a real PostgreSQL: an attack, and honest traffic."""

import os
import subprocess
import time
import unittest
from pathlib import Path

from postgres_server import PostgresServer
from redis_server import RedisServer, free_port

GUARD = Path(os.environ["BLOOMERY_EXAMPLES"]) / "example_cache_guard"
ROWS = 50_000
ATTACK = 100_000
SEED = "7"


class CacheGuardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"seed {SEED}", flush=True)
        cls.redis = RedisServer()
        cls.addClassCleanup(cls.redis.stop)
        cls.postgres = PostgresServer()
        cls.addClassCleanup(cls.postgres.stop)
        cls.postgres.sql(
            "create table users (id bigint primary key, name text not null);"
            f"insert into users select 3 * n, 'user ' || 3 * n from generate_series(1, {ROWS}) n"
        )

    def run_guard(self, *words, redis=None, postgres=None):
        command = [GUARD, "--redis", redis or f"127.0.0.1:{self.redis.port}"]
        command += ["--postgres", postgres or self.postgres.conninfo, "--seed", SEED]
        return subprocess.run(command + list(words), capture_output=True, text=True)

    def waves(self, *words, **servers):
        """{(guard, wave): {column: number}}"""
        ran = self.run_guard(*words, **servers)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stderr, "")
        print(ran.stdout, flush=True)
        return self.parsed(ran.stdout)

    @staticmethod
    def parsed(printed):
        table = {}
        for line in printed.splitlines()[1:]:
            label, wave, *numbers = line.split()
            columns = ("requests", "at once", "cache", "queries", "wrong")
            table[label, wave] = dict(zip(columns, map(int, numbers[:-1])))
        return table

    def queries_of_postgres(self):
        """Statements on the table that the server itself has counted: a look or a write each."""
        return int(
            self.postgres.sql(
                "select idx_scan + n_tup_ins from pg_stat_user_tables where relname = 'users'"
            )
        )

    def test_attack(self):
        rows = int(self.postgres.sql("select count(*) from users"))
        table = self.waves("--attack", str(ATTACK), "--legitimate", "20000", "--insert", "500")
        off, on = table["off", "attack"], table["on", "attack"]
        self.assertEqual(off["requests"], ATTACK)
        self.assertEqual(on["requests"], ATTACK)
        self.assertEqual(off["queries"], ATTACK, "without a guard every one is a query")
        self.assertLessEqual(on["queries"], 0.012 * ATTACK)
        self.assertGreater(on["queries"], 0, "a set of rate 1 % lets some pass")
        self.assertEqual(on["at once"] + on["queries"], ATTACK)
        for name in ("legitimate", "attack", "inserted"):
            self.assertEqual(table["off", name]["wrong"], 0)
            self.assertEqual(table["on", name]["wrong"], 0)
        # Honest requests are served as before: nothing is answered at once, the cache works.
        honest = table["on", "legitimate"]
        self.assertEqual(honest["at once"], 0)
        self.assertEqual(honest["cache"] + honest["queries"], 20_000)
        self.assertGreater(honest["cache"], 1000)
        # Asked for before and after each insert: at once or denied, then found by a query.
        inserted = table["on", "inserted"]
        self.assertEqual(inserted["requests"], 1000)
        self.assertGreaterEqual(inserted["queries"], 500)
        self.assertEqual(int(self.postgres.sql("select count(*) from users")), rows + 1000)

    def test_the_database_counts_the_same(self):
        before = self.queries_of_postgres()
        table = self.waves("--guard", "on", "--attack", "5000", "--legitimate", "1000",
                           "--insert", "100")
        told = sum(wave["queries"] for wave in table.values()) + 100  # and the writes
        # A server process counts in private and hands its counts over when its client has left.
        end = time.monotonic() + 20
        while self.queries_of_postgres() - before < told and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(self.queries_of_postgres() - before, told)

    def test_remembered_absence_is_forgotten_by_an_insert(self):
        # Without a guard each id is denied first, remembered as absent, then inserted.
        table = self.waves("--guard", "off", "--attack", "0", "--legitimate", "0",
                           "--insert", "300", "--remember-absent", "60")
        self.assertEqual(table["off", "inserted"]["wrong"], 0)
        self.assertEqual(table["off", "inserted"]["queries"], 600)

    def test_a_cache_that_takes_nothing_is_gone_around(self):
        with RedisServer("--maxmemory", "1", "--maxmemory-policy", "noeviction") as full:
            table = self.waves("--guard", "on", "--attack", "1000", "--legitimate", "1000",
                               "--insert", "10", redis=f"127.0.0.1:{full.port}")
        for wave in table.values():
            self.assertEqual(wave["wrong"], 0)
            self.assertEqual(wave["cache"], 0)
        self.assertEqual(table["on", "legitimate"]["queries"], 1000)

    def test_a_cache_that_ends_is_gone_around(self):
        with RedisServer() as other:
            command = [GUARD, "--redis", f"127.0.0.1:{other.port}", "--postgres",
                       self.postgres.conninfo, "--guard", "off", "--seed", SEED, "--legitimate",
                       "100", "--attack", "20000", "--insert", "10"]
            run = self.start(command)
            head = run.stdout.readline() + run.stdout.readline()  # the attack runs
            other.kill()
            rest, said = run.communicate(timeout=120)
        self.assertEqual((run.returncode, said), (0, ""))
        table = self.parsed(head + rest)
        self.assertEqual(table["off", "attack"]["queries"], 20_000)
        self.assertEqual(table["off", "inserted"]["wrong"], 0)

    def start(self, command):
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        return run

    def test_bad_connections_get_a_sentence(self):
        nobody = f"127.0.0.1:{free_port()}"
        for words, said in (
            ({"redis": nobody}, f"Redis at {nobody}"),
            ({"redis": "no-such-host.invalid:1"}, "Redis at no-such-host.invalid:1"),
            ({"postgres": "host=/nonexistent-directory"}, "PostgreSQL: "),
            ({"postgres": self.postgres.conninfo + " user=stranger"}, "stranger"),
            ({"postgres": "no conninfo"}, "PostgreSQL: "),
        ):
            with self.subTest(**words):
                self.refused(self.run_guard(**words), said)
        with RedisServer(password="secret") as locked:
            self.refused(self.run_guard(redis=f"127.0.0.1:{locked.port}"), "NOAUTH")

    def test_bad_words_get_a_sentence(self):
        for words, said in (
            (["--attack", "many"], "--attack takes a number"),
            (["--guard", "maybe"], "--guard is off, on or both"),
            (["--attack"], "--attack takes a value"),
            (["--nonsense", "1"], "unknown option --nonsense"),
            (["--rate", "2", "--guard", "on"], "rate"),
            (["--table", "no such table"], "no such table"),
        ):
            with self.subTest(words=words):
                self.refused(self.run_guard(*words), said)

    def test_help(self):
        for flag in ("--help", "-h"):
            ran = subprocess.run([GUARD, flag], capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            for word in ("--redis", "--postgres", "--table", "--guard", "--legitimate", "--attack",
                         "--insert", "--rate", "--remember-absent", "--seed", "Exit codes"):
                self.assertIn(word, ran.stdout)

    def refused(self, ran, said):
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertIn(said, ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 1, "one sentence on one line")

    def test_a_database_that_ends_is_an_error(self):
        with PostgresServer() as other:
            other.sql("create table users (id bigint primary key, name text);"
                      "insert into users values (1, 'one')")
            command = [GUARD, "--redis", f"127.0.0.1:{self.redis.port}", "--postgres",
                       other.conninfo, "--guard", "off", "--legitimate", "10", "--attack",
                       "1000000000"]
            run = self.start(command)
            run.stdout.readline()
            run.stdout.readline()  # the legitimate wave is over, the attack runs
            other.kill()
            _, said = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 2)
        self.assertIn("cache_guard: PostgreSQL: ", said)


if __name__ == "__main__":
    unittest.main()
