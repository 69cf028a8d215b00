"""`pip install ./python` from the sources, in one step and without a network (ctest -C big)."""
import os
import unittest
from pathlib import Path

from install_test import Installed


class FromSources(Installed):
    def test_pip_builds_and_installs(self):
        self.install_and_use(Path(os.environ["BLOOMERY_SOURCE"]) / "python")


if __name__ == "__main__":
    unittest.main(verbosity=2, defaultTest="FromSources")
