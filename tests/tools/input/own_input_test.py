"""A file that is read and written at once: refused, or replaced whole with the rights it had."""

import os
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

BLOOMERY = os.environ["BLOOMERY"]
LINES = b"b\na\nb\nc\n"
ACL = "system.posix_acl_access"
NOBODY = 0xFFFFFFFF
OWNER, USER, GROUP, MASK, OTHER = 1, 2, 4, 16, 32


def access_list(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


class OwnInputTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="bloomery-own-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        self.file = self.folder / "f"
        self.file.write_bytes(LINES)

    def shell(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True,
                              env=os.environ | {"PATH": f"{Path(BLOOMERY).parent}:"
                                                        f"{os.environ['PATH']}"}, timeout=60)
        return done.returncode, done.stderr.decode()

    def expect_refused(self, command, sentence):
        with self.subTest(command=command):
            status, told = self.shell(command)
            self.assertEqual(status, 2, told)
            self.assertIn(sentence, told.replace("is read by this command", "is an input"))
            self.assertEqual(self.file.read_bytes(), LINES)

    def test_the_standard_output_is_an_input(self):
        os.link(self.file, self.folder / "link")
        (self.folder / "n").write_bytes(b"1\n")
        self.shell("bloomery build -q -n 100 -o F n; bloomery build -q --kind spectral -o C n")
        for verb in ("dedup", "dedup --exact", "dedup -i", "check F", "check -v F", "count C",
                     "ints sort", "dedup --state S", "build -o new", "add F"):
            for words in ("f >> f", "link >> f", "n f >> f", "- < f >> f", "< f >> f"):
                self.expect_refused(f"bloomery {verb} {words}", "is the standard output too")
        # A set that is asked, too.
        before = (self.folder / "F").read_bytes()
        for verb in ("check F f", "dedup --against F f", "info F", "verify F", "dedup --state F f"):
            self.expect_refused(f"bloomery {verb} >> F", "F is read and is the standard output too")
        self.assertEqual((self.folder / "F").read_bytes(), before)

    def test_the_output_names_an_input(self):
        os.link(self.file, self.folder / "link")
        os.symlink("f", self.folder / "symlink")
        self.shell("bloomery build -q -n 100 -o F f; bloomery build -q --kind spectral -o C f")
        for name in ("f", "./f", "link", "symlink"):
            for verb in (f"dedup -f -o {name} f", f"dedup -f -o {name} < f",
                         f"dedup -f -D {name} f", f"dedup --state S -f -o {name} f",
                         f"dedup -f -i -o {name} f", f"check F -f -o {name} f",
                         f"count C -f -o {name} f", f"ints sort --skip-bad -f -o {name} f",
                         f"build -f -o {name} f", f"build -f -o {name} < f"):
                self.expect_refused(f"bloomery {verb}", "is an input")
        self.expect_refused("bloomery dedup -f -o f f", "--in-place")
        before = (self.folder / "F").read_bytes()
        self.expect_refused("bloomery check F -f -o F f", "F is an input")
        self.expect_refused("bloomery dedup --against F -f -o F f", "F is an input")
        self.assertEqual((self.folder / "F").read_bytes(), before)

    def test_a_file_that_grows_while_it_is_replaced_is_left_as_it_is(self):
        line = b"x" * 1000 + b"\n"
        self.file.write_bytes(line * 5000)
        os.mkfifo(self.folder / "pipe")

        def append():
            with open(self.file, "ab") as file:
                file.write(b"late\n")

        def touch_inside():
            with open(self.file, "r+b") as file:
                file.write(b"y")

        def replace():
            (self.folder / "new").write_bytes(b"new\n")
            (self.folder / "new").rename(self.file)

        for act in (append, touch_inside, lambda: os.truncate(self.file, 10_000), replace):
            run = subprocess.Popen([BLOOMERY, "dedup", "--in-place", "-D", "pipe", "f"],
                                   cwd=self.folder, stderr=subprocess.PIPE)
            with open(self.folder / "pipe", "rb") as repeats:
                repeats.read(1)
                # The rest of the repeats does not fit into the pipe: the command waits.
                act()
                after = self.file.read_bytes()
                while repeats.read(1 << 16):
                    pass
            _, told = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 2, told)
            self.assertRegex(told, b"f (was changed by another program|became shorter) while it")
            self.assertEqual(self.file.read_bytes(), after)
            self.file.write_bytes(line * 5000)

    def replace_in_place(self):
        status, told = self.shell("bloomery dedup --in-place f")
        self.assertEqual((status, told), (0, ""))
        self.assertEqual(self.file.read_bytes(), b"b\na\nc\n")

    def test_attributes_and_access_lists_survive(self):
        os.setxattr(self.file, "user.note", b"\0 kept")
        # The bits of the group in the mode are the mask: the group itself has no rights.
        listed = access_list((OWNER, 6, NOBODY), (USER, 4, 12345), (GROUP, 0, NOBODY),
                             (MASK, 4, NOBODY), (OTHER, 0, NOBODY))
        os.setxattr(self.file, ACL, listed)
        self.assertEqual(self.file.stat().st_mode & 0o7777, 0o640)
        self.replace_in_place()
        self.assertEqual(self.file.stat().st_mode & 0o7777, 0o640)
        self.assertEqual(os.getxattr(self.file, ACL), listed)
        self.assertEqual(os.getxattr(self.file, "user.note"), b"\0 kept")

    def test_the_access_list_of_the_directory_gives_nobody_more(self):
        os.setxattr(self.folder, "system.posix_acl_default",
                    access_list((OWNER, 7, NOBODY), (USER, 7, 12345), (GROUP, 7, NOBODY),
                                (MASK, 7, NOBODY), (OTHER, 7, NOBODY)))
        self.file.chmod(0o640)
        self.assertEqual(os.listxattr(self.file), [])
        self.replace_in_place()
        self.assertEqual(os.listxattr(self.file), [])
        self.assertEqual(self.file.stat().st_mode & 0o7777, 0o640)

    def test_modes_never_widen(self):
        for mode in (0o600, 0o604, 0o660, 0o640, 0o4755, 0o2755):
            self.file.write_bytes(LINES)
            self.file.chmod(mode)
            self.replace_in_place()
            self.assertEqual(self.file.stat().st_mode & 0o7777, mode & 0o777)

    def test_links(self):
        """A symbolic link is followed; of several names only the one that was given is replaced."""
        os.symlink("f", self.folder / "symlink")
        status, told = self.shell("bloomery dedup --in-place symlink")
        self.assertEqual((status, told), (0, ""))
        self.assertTrue((self.folder / "symlink").is_symlink())
        self.assertEqual(self.file.read_bytes(), b"b\na\nc\n")
        self.file.write_bytes(LINES)
        os.link(self.file, self.folder / "link")
        self.replace_in_place()
        self.assertEqual((self.folder / "link").read_bytes(), LINES)


if __name__ == "__main__":
    unittest.main(verbosity=2)
