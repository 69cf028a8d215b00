#!/usr/bin/env python3
"""Completions and manual page, tried with the shells and the tools that read them.

    BLOOMERY=path/to/bloomery completions_test.py
"""
import os
import pty
import re
import select
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from shown_flags import BINARY, bloomery, commands, flags_of

BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"


def flag_names(command):
    return set().union(*flags_of(command))


class Typed:
    """An interactive shell on a pseudo terminal, at which somebody types."""

    def __init__(self, words, folder, environment):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        self.seen = ""

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, pattern, seconds=20):
        """What came until the pattern did; an error that shows it if it did not come."""
        until = time.monotonic() + seconds
        while not (match := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.master], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {pattern!r} in {self.seen!r}")
            try:
                self.seen += os.read(self.master, 4096).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the shell ended before {pattern!r}: {self.seen!r}") from None
        before, self.seen = self.seen[: match.end()], self.seen[match.end() :]
        return before

    def completes(self, typed, pattern):
        """Types it and a tab, waits for what the shell makes of it, and wipes the line."""
        self.seen = ""
        self.type(typed + "\t")
        self.wait_for(pattern)
        # Control-U and a newline: an interrupt may come while the shell still draws, and be lost.
        self.type("\x15\n")
        self.wait_for("READY")

    def close(self):
        os.close(self.master)
        os.waitpid(self.pid, 0)


class Completions(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="bloomery-completions-")
        self.addCleanup(place.cleanup)
        self.folder = Path(place.name)
        (self.folder / "here").mkdir()
        (self.folder / "here" / "file with spaces").write_text("1\n")
        (self.folder / "here" / "count").write_text("1\n")
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "bloomery").symlink_to(Path(BINARY).resolve())
        self.environment = {
            "PATH": f"{self.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
        }

    def write(self, name, shell):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(bloomery("completions", shell))
        return path

    def run_shell(self, *words):
        ran = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            cwd=self.folder / "here",
            env=self.environment,
        )
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), words)
        return ran.stdout

    def shell(self, *words):
        typed = Typed(words, self.folder / "here", self.environment)
        self.addCleanup(typed.close)
        return typed

    # -- bash

    def bash_answers(self, *lines):
        """What the function of the script answers, without a terminal."""
        script = self.write("bash", "bash")
        asks = "".join(
            f"COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _bloomery;"
            'printf "%s\\n" "${COMPREPLY[@]}"; echo ==;'
            for line in lines
        )
        out = self.run_shell("bash", "--norc", "-u", "-c", f"source {script}; {asks}")
        return [set(answer.split()) for answer in out.split("==\n")[:-1]]

    def test_bash_knows_every_command_and_flag(self):
        names = commands()
        self.assertIn("dedup", names)
        answers = self.bash_answers("bloomery ''", *(f"bloomery {name} -" for name in names))
        self.assertEqual(answers[0], set(names))
        for name, answer in zip(names, answers[1:]):
            self.assertEqual(answer, flag_names(name), name)

    def test_bash_knows_the_words_of_values(self):
        answers = self.bash_answers(
            "bloomery de",
            "bloomery build --kind spl",
            "bloomery build --kind = b",
            "bloomery dedup --color =",
            "bloomery ints ''",
            "bloomery ints -o out ''",
            "bloomery ints sort ''",
            "bloomery merge --color = always ''",
            "bloomery plan ''",
            "bloomery dedup -n ''",
        )
        self.assertEqual(answers[0], {"dedup"})
        self.assertEqual(answers[1], {"split-block"})
        self.assertEqual(answers[2], {"bitmap", "blocked"})
        self.assertEqual(answers[3], {"auto", "always", "never"})
        self.assertEqual(answers[4], {"sort", "count", "once", "dups", "missing"})
        self.assertEqual(answers[5], answers[4])
        self.assertEqual(answers[6], set(), "file names, which bash completes by itself")
        self.assertEqual(answers[7], {"union", "intersect", "difference", "exclusive"})
        self.assertEqual(answers[8:], [set(), set()])

    def type_to_bash(self, setup):
        bash = self.shell("bash", "--norc", "--noprofile", "-i")
        bash.type(f"PS1=REA'DY '; bind 'set bell-style none'; {setup}\n")
        bash.wait_for("READY")
        bash.completes("bloomery ded", "bloomery dedup ")
        bash.completes("bloomery build --kind spl", "--kind split-block ")
        bash.completes("bloomery dedup --color=al", "--color=always")
        bash.completes("bloomery dedup fi", r"file\\ with\\ spaces")
        bash.completes("bloomery ints sort cou", "sort count ")
        bash.completes("bloomery ints mi", "ints missing ")

    def test_bash_on_a_terminal(self):
        self.type_to_bash(f"source {self.write('bash', 'bash')}")

    def test_bash_on_a_terminal_with_the_package_that_loads_by_name(self):
        self.assertTrue(Path(BASH_COMPLETION).exists(), "the package bash-completion")
        self.write("user/completions/bloomery", "bash")
        self.environment["BASH_COMPLETION_USER_DIR"] = str(self.folder / "user")
        self.type_to_bash(f"source {BASH_COMPLETION}")

    # -- zsh

    def type_to_zsh(self, setup):
        zsh = self.shell("zsh", "-f", "-i")
        zsh.type(f"PS1=REA'DY '; unsetopt beep zle_bracketed_paste; {setup}\n")
        zsh.wait_for("READY")
        zsh.completes("bloomery ded", "bloomery dedup ")
        zsh.completes("bloomery build --kind spl", "--kind split-block ")
        zsh.completes("bloomery dedup --color=al", "--color=always")
        zsh.completes("bloomery dedup fi", r"file\\ with\\ spaces")
        zsh.completes("bloomery ints sort cou", "sort count ")
        zsh.completes("bloomery ints mi", "ints missing ")
        zsh.completes("bloomery info --mea", "--measure")
        zsh.completes("bloomery check -s one --whi", "--which ")

    def test_zsh_finds_the_script_on_its_path(self):
        path = self.write("functions/_bloomery", "zsh")
        self.run_shell("zsh", "-f", "-n", path)
        setup = f"fpath=({path.parent} $fpath); autoload -U compinit; compinit -u -D"
        self.type_to_zsh(setup)

    def test_zsh_takes_the_script_as_source(self):
        path = self.write("sourced", "zsh")
        self.type_to_zsh(f"autoload -U compinit; compinit -u -D; source {path}")

    def test_zsh_script_names_every_flag(self):
        text = bloomery("completions", "zsh")
        for name in commands():
            block = text.split(f"\n        {name})\n")[1].split(";;\n")[0]
            found = re.findall(r"--?\w[\w-]*[+=]*-?", block)
            found = {re.sub(r"[+=]+-?$", "", flag) for flag in found}
            self.assertLessEqual(flag_names(name), found, name)

    # -- fish

    def fish_answers(self, line):
        script = self.write("bloomery.fish", "fish")
        out = self.run_shell("fish", "-N", "-c", f"source {script}; complete -C '{line}'")
        return {answer.split("\t")[0] for answer in out.splitlines()}

    def test_fish_knows_every_command_and_flag(self):
        self.assertEqual(self.fish_answers("bloomery "), set(commands()))
        for name in commands():
            self.assertEqual(
                self.fish_answers(f"bloomery {name} --"),
                {flag for flag in flag_names(name) if flag.startswith("--")},
                name,
            )

    def test_fish_knows_the_words_of_values(self):
        for line, answers in [
            ("bloomery de", {"dedup"}),
            ("bloomery build --kind spl", {"split-block"}),
            ("bloomery dedup --color=al", {"--color=always"}),
            ("bloomery ints ", {"sort", "count", "once", "dups", "missing"}),
            ("bloomery ints sort cou", {"count"}),
            ("bloomery dedup fi", {"file with spaces"}),
            ("bloomery check -s cou", {"count"}),
            ("bloomery plan cou", set()),
            ("bloomery completions ", {"bash", "zsh", "fish"}),
        ]:
            self.assertEqual(self.fish_answers(line), answers, line)

    # -- the manual

    def test_the_manual_has_no_fault(self):
        page = self.folder / "bloomery.1"
        page.write_text(bloomery("man"))
        self.assertEqual(self.run_shell("mandoc", "-T", "lint", page), "")
        shown = self.run_shell("mandoc", "-T", "ascii", page)
        plain = re.sub(".\b", "", shown)
        for name in commands():
            self.assertRegex(plain, rf"(?m)^   {name}$")
            section = re.split(rf"(?m)^   {name}$", plain)[1]
            section = re.split(r"(?m)^   \w+$", section)[0]
            for flag in flag_names(name):
                self.assertIn(flag, section, name)
            # The story too, to its last line.
            last = bloomery(name, "--help").rstrip().splitlines()[-1].strip()
            self.assertIn(last, plain, name)

    def test_man_itself_reads_it(self):
        page = self.folder / "bloomery.1"
        page.write_text(bloomery("man"))
        self.environment["MANWIDTH"] = "200"
        shown = self.run_shell("man", "--warnings=w", "-P", "cat", "-l", page)
        self.assertIn("bloomery check [FLAGS] F [FILE...]", re.sub(".\b", "", shown))


if __name__ == "__main__":
    unittest.main()
