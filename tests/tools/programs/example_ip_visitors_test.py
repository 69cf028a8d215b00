#!/usr/bin/env python3
"""examples/ip_visitors beside a Python set: which lines of a log are first visits.

    BLOOMERY_EXAMPLES=directory/of/the/programs example_ip_visitors_test.py
"""
import gzip
import ipaddress
import random
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from example_program import count_of, path_of, program

PROGRAM = path_of("ip_visitors")
visitors = program("ip_visitors")
SEED = 20240611


def random_address(chance):
    """Most visitors are IPv4; some come back often, some share a network, some are mapped."""
    kind = chance.random()
    if kind < 0.4:
        return str(ipaddress.IPv4Address(chance.getrandbits(32)))
    if kind < 0.7:
        return f"10.1.{chance.randrange(64)}.{chance.randrange(256)}"
    if kind < 0.75:
        return f"::ffff:10.1.{chance.randrange(64)}.{chance.randrange(256)}"
    if kind < 0.8:
        return chance.choice(["0.0.0.0", "255.255.255.255", "::", "::1", "127.255.255.255"])
    address = ipaddress.IPv6Address((0x20010DB8 << 96) | chance.getrandbits(15))
    return chance.choice([address.compressed, address.exploded, address.exploded.upper()])


def visitor_of(word):
    address = ipaddress.ip_address(word)
    return getattr(address, "ipv4_mapped", None) or address


def log_line(address, chance):
    return (
        f'{address} - - [10/Oct/2000:13:55:36 -0700] "GET /{chance.randrange(1000)} HTTP/1.1" '
        f'200 {chance.randrange(9999)} "-" "agent"\n'
    ).encode()


class IpVisitors(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bloomery-visitors-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.state = self.folder / "state"

    def test_three_runs_name_just_the_first_visits_of_an_exact_set(self):
        chance = random.Random(SEED)
        print(f"seed {SEED}")
        known = set()
        for run in range(3):
            lines = [log_line(random_address(chance), chance) for _ in range(60000)]
            wanted, again = [], 0
            for line in lines:
                visitor = visitor_of(line.split()[0].decode())
                if visitor in known:
                    again += 1
                else:
                    wanted.append(line)
                known.add(visitor)
            middle = len(lines) // 2  # one file as it is, one compressed
            one, two = self.folder / "access.log", self.folder / "access.log.1.gz"
            one.write_bytes(b"".join(lines[:middle]))
            two.write_bytes(gzip.compress(b"".join(lines[middle:]), 1))
            code, out, report = visitors("--state", self.state, one, two)
            self.assertEqual(code, 0, report)
            self.assertEqual(out.splitlines(keepends=True), wanted)
            self.assertGreater(len(wanted), 10000)
            self.assertGreater(again, 10000)
            self.assertEqual(count_of(report, "lines"), len(lines))
            self.assertEqual(count_of(report, "first visits"), len(wanted))
            self.assertEqual(count_of(report, "returning"), again)
            ipv6 = sum(visitor.version == 6 for visitor in known)
            self.assertIn(
                f"visitors known  {len(known)} ({len(known) - ipv6} IPv4, {ipv6} IPv6)", report
            )
            self.assertGreater(ipv6, 1000)

    def test_every_line_is_marked_and_lists_of_addresses_are_read(self):
        given = b"1.2.3.4\n::ffff:1.2.3.4\n2001:db8::1\r\n2001:DB8:0::1\n1.2.3.5"
        code, out, _ = visitors("--mark", given=given)
        self.assertEqual(code, 0)
        self.assertEqual(
            out,
            b"first\t1.2.3.4\nagain\t::ffff:1.2.3.4\nfirst\t2001:db8::1\r\n"
            b"again\t2001:DB8:0::1\nfirst\t1.2.3.5\n",
        )

    def test_without_a_state_nothing_is_remembered(self):
        for _ in range(2):
            self.assertEqual(visitors(given=b"9.9.9.9\n9.9.9.9\n")[1], b"9.9.9.9\n")

    def test_what_is_no_address_is_named_and_the_rest_is_done(self):
        bad = [
            b"",
            b"-",
            b"host.example",
            b"1.2.3",
            b"1.2.3.4.5",
            b"1.2.3.256",
            b"01.2.3.4",
            b"1.2.3.00",
            b"0x1.2.3.4",
            b"+1.2.3.4",
            b"1.2.3.4:80",
            b"16909060",
            b"1..3.4",
            b"99999999999.1.1.1",
            b":::1",
            b"::1%eth0",
            b"2001:db8::1::2",
            b"::1\x00",
        ]
        good = b"1.2.3.4 - - x\n"
        log = self.folder / "mixed.log"
        log.write_bytes(good + b"\n".join(bad) + b"\n4.3.2.1\n")
        code, out, report = visitors("--state", self.state, log)
        self.assertEqual(code, 2)
        self.assertEqual(out, good + b"4.3.2.1\n")
        self.assertEqual(count_of(report, "bad lines"), len(bad))
        for number in range(2, len(bad) + 2):
            self.assertIn(f"{log}, line {number} does not begin with an IP address", report)
        self.assertIn(r"'::1\x00'", report)
        code, out, report = visitors("--skip-bad", "--state", self.state, log)
        self.assertEqual((code, out), (0, b""))  # the first run was remembered all the same
        self.assertEqual(count_of(report, "bad lines"), len(bad))

    def test_much_garbage_is_counted_and_not_repeated(self):
        code, _, report = visitors(given=b"x\n" * 5000)
        self.assertEqual(code, 2)
        self.assertEqual(count_of(report, "bad lines"), 5000)
        self.assertLess(len(report.splitlines()), 40)

    def test_a_pipe_is_answered_line_by_line_and_a_signal_saves(self):
        with subprocess.Popen(
            [PROGRAM, "--state", self.state, "--mark"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as program:
            for line, answer in [(b"1.1.1.1 x\n", b"first"), (b"1.1.1.1 y\n", b"again")]:
                program.stdin.write(line)
                program.stdin.flush()
                self.assertEqual(program.stdout.readline(), answer + b"\t" + line)
            code, _, report = visitors("--state", self.state, given=b"2.2.2.2\n")
            self.assertEqual(code, 2)
            self.assertIn("in use by another run", report)
            program.send_signal(signal.SIGTERM)
            self.assertEqual(program.wait(timeout=60), 0)
        self.assertEqual(visitors("--state", self.state, given=b"1.1.1.1\n")[1], b"")

    def test_a_run_that_is_killed_or_fails_leaves_the_state_as_it_was(self):
        self.assertEqual(visitors("--state", self.state, given=b"1.1.1.1\n")[0], 0)
        with subprocess.Popen(
            [PROGRAM, "--state", self.state], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as program:
            program.stdin.write(b"2.2.2.2\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), b"2.2.2.2\n")
            program.kill()
        with open("/dev/full", "wb") as full:
            ran = subprocess.run(
                [PROGRAM, "--state", self.state],
                input=b"3.3.3.3\n",
                stdout=full,
                stderr=subprocess.PIPE,
                timeout=60,
            )
        self.assertEqual(ran.returncode, 2)
        self.assertIn(b"standard output", ran.stderr)
        given = b"1.1.1.1\n2.2.2.2\n3.3.3.3\n"
        self.assertEqual(visitors("--state", self.state, given=given)[1], given[8:])

    def test_a_damaged_state_and_a_foreign_directory_are_refused(self):
        self.assertEqual(visitors("--state", self.state, given=b"1.1.1.1\n::1\n")[0], 0)
        part = self.state / "current" / "ipv6.blm"
        whole = part.read_bytes()
        part.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        code, out, report = visitors("--state", self.state, given=b"2.2.2.2\n")
        self.assertEqual((code, out), (2, b""))
        self.assertIn("ipv6.blm", report)
        foreign = self.folder / "foreign"
        foreign.mkdir()
        (foreign / "current").symlink_to("elsewhere")
        code, _, report = visitors("--state", foreign, given=b"2.2.2.2\n")
        self.assertEqual(code, 2)
        self.assertIn("is not a generation", report)

    def test_missing_files_and_unknown_flags(self):
        code, _, report = visitors(self.folder / "none.log")
        self.assertEqual(code, 2)
        self.assertIn("none.log", report)
        for words in (["--strange"], ["--state"], ["--state", ""]):
            code, _, report = visitors(*words)
            self.assertEqual(code, 2)
            self.assertIn("usage: ip_visitors", report)


if __name__ == "__main__":
    unittest.main()
