#!/usr/bin/env python3
"""Who may run which command: the ACL categories of BF.* and CF.* on a real redis-server.

    BLOOMERY_MODULE=path/to/bloomery.so [REDIS_SERVER=path/to/redis-server] redis_acl_test.py

Redis 7.0 knows no categories for commands of modules; 7.2 has @read and @write for them, 7.4 and
Valkey 8 also @bloom and @cuckoo. The test asks the server what it has and holds it to that, so that
Debian's server and a later one (REDIS_SERVER) are both checked. docs/redis.md says the same.
"""
import unittest

from redis_module import OK, ModuleCase
from resp import Resp, RespError

FAST = {"bf.reserve", "bf.info", "bf.card", "cf.reserve", "cf.info"}
READERS = {"bf.exists", "bf.mexists", "bf.info", "bf.card", "bf.debug", "bf.scandump", "cf.exists",
           "cf.mexists", "cf.count", "cf.info", "cf.debug", "cf.scandump"}
WRITERS = {"bf.reserve", "bf.add", "bf.madd", "bf.insert", "bf.loadchunk", "bf.merge", "cf.reserve",
           "cf.add", "cf.addnx", "cf.insert", "cf.insertnx", "cf.del", "cf.compact",
           "cf.loadchunk"}


class Acl(ModuleCase):
    def setUp(self):
        super().setUp()
        version = self.two.ask("INFO", "server").decode()
        fields = dict(line.split(":", 1) for line in version.splitlines() if ":" in line)
        self.version = tuple(map(int, fields["redis_version"].split(".")[:2]))
        self.is_valkey = "valkey_version" in fields
        self.has_categories = self.version >= (7, 2)
        self.has_own = self.version >= (7, 4) or self.is_valkey

    def as_user(self, *rules):
        """A connection of a user that these rules are given to."""
        self.assertEqual(self.two.ask("ACL", "SETUSER", "u", "reset", "on", "nopass", "~*", *rules),
                         OK)
        client = Resp(self.server.port)
        self.addCleanup(client.close)
        self.assertEqual(client.ask("AUTH", "u", "any"), OK)
        return client

    def may(self, client, *words):
        reply = client.ask(*words)
        denied = isinstance(reply, RespError) and str(reply).startswith("NOPERM")
        return not denied

    def test_a_user_without_write_cannot_add(self):
        reader = self.as_user("+@all", "-@write")
        for words in [("BF.ADD", "f", "a"), ("CF.ADD", "c", "a"), ("CF.COMPACT", "c"),
                      ("BF.RESERVE", "g", "0.01", "100")]:
            self.assertEqual(self.may(reader, *words), not self.has_categories, words)
        self.assertTrue(self.may(reader, "BF.EXISTS", "f", "a"))
        self.assertTrue(self.may(reader, "CF.COUNT", "c", "a"))
        self.assertEqual(self.may(self.as_user("-@all", "+@read"), "BF.EXISTS", "f", "a"),
                         self.has_categories)

    def test_commands_can_be_named_on_every_server(self):
        reader = self.as_user("+@all", "-bf.add")
        self.assertFalse(self.may(reader, "BF.ADD", "f", "a"))
        self.assertTrue(self.may(reader, "BF.MADD", "f", "a"))

    def test_the_categories_are_those_of_redisbloom(self):
        def of_category(name):
            listed = self.two.ask("ACL", "CAT", name)
            if isinstance(listed, RespError):
                return None
            return {c.decode() for c in listed if c[:3] in (b"bf.", b"cf.")}

        families = {"bloom": "bf.", "cuckoo": "cf."}
        both = READERS | WRITERS
        for name, start in families.items():
            listed = {c for c in both if c.startswith(start)} if self.has_own else None
            self.assertEqual(of_category(name), listed)
        for name, members in [("read", READERS), ("write", WRITERS), ("fast", FAST)]:
            self.assertEqual(of_category(name), members if self.has_categories else set())

    def test_own_categories_allow_one_family(self):
        if not self.has_own:
            reply = self.two.ask("ACL", "SETUSER", "u", "-@all", "+@bloom")
            self.assertIsInstance(reply, RespError)
            return
        bloom = self.as_user("-@all", "+@bloom")
        self.assertTrue(self.may(bloom, "BF.ADD", "f", "a"))
        self.assertFalse(self.may(bloom, "CF.ADD", "c", "a"))
        self.assertFalse(self.may(bloom, "SET", "s", "a"))
        self.assertFalse(self.may(self.as_user("+@all", "-@cuckoo"), "CF.ADD", "c", "a"))


if __name__ == "__main__":
    unittest.main()
