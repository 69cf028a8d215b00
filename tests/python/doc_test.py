"""Every example that help() shows and every recipe of docs/python.md is run."""
import doctest
import inspect
import os
import sys
import tempfile
import unittest
from pathlib import Path

import bloomery
import bloomery.pandas

SOURCE = Path(os.environ["BLOOMERY_SOURCE"])


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def run_examples(self, text, name, names):
        test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
        out = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        result = runner.run(test, out=out.append)
        self.assertEqual(result.failed, 0, "".join(out))
        return result.attempted

    def test_examples_of_every_verb(self):
        public = {name: getattr(bloomery, name) for name in bloomery.__all__}
        done = self.run_examples(bloomery.__doc__, "bloomery", {})
        done += self.run_examples(bloomery.pandas.__doc__, "bloomery.pandas", {})
        for name, thing in public.items():
            if not inspect.isclass(thing):
                done += self.run_examples(getattr(thing, "__doc__", "") or "", name, dict(public))
                continue
            for inner, verb in [("", thing), *vars(thing).items()]:
                doc = getattr(verb, "__doc__", None)
                if doc:
                    done += self.run_examples(doc, f"{name}.{inner}", dict(public))
        self.assertGreater(done, 40)

    def test_every_public_verb_has_a_sentence(self):
        for owner in (bloomery.Set, bloomery.Bitmap, bloomery.Cascade):
            self.assertTrue(owner.__doc__)
            for name, verb in vars(owner).items():
                if not name.startswith("_"):
                    self.assertTrue(verb.__doc__, f"{owner.__name__}.{name}")

    def test_recipes_of_the_paper(self):
        text = (SOURCE / "docs/python.md").read_text(encoding="utf-8")
        self.assertGreater(self.run_examples(text.replace("```", ""), "docs/python.md", {}), 30)


if __name__ == "__main__":
    sys.exit(unittest.main())
