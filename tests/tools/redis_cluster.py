"""A real Redis Cluster for a test: masters and replicas on loopback, stopped after.

    with RedisCluster(masters=3, replicas=1) as cluster:
        run("bloomery", "dedup", "--state", f"redis://127.0.0.1:{cluster.port}/0/seen", ...)
        cluster.move_slots(first=0, count=100, to=2)      # to master number 2, under load
        cluster.fail_over(1)                              # a replica of master 1 is promoted

Made by CLUSTER commands alone, in about two seconds.
"""
import socket
import time

from redis_server import HOST, RedisServer

SLOTS = 16384


class RedisCluster:
    def __init__(self, masters=3, replicas=1, options=()):
        self.servers = []
        self.lines = {}
        try:
            settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000"]
            settings += ["--cluster-config-file", "nodes.conf", "--repl-diskless-sync-delay", "0"]
            settings += ["--cluster-require-full-coverage", "no", "--appendonly", "no"]
            # On a busy machine a replica may be far behind for a while, and shall not be cut off.
            settings += ["--client-output-buffer-limit", "replica 0 0 0"]
            settings += ["--repl-backlog-size", "64mb", "--repl-timeout", "600"]
            for _ in range(masters * (1 + replicas)):
                self.servers.append(RedisServer(*settings, *options))
            self.masters = list(self.servers[:masters])
            self.replicas = [self.servers[masters + i :: masters] for i in range(masters)]
            self.join(masters)
        except BaseException:
            self.stop()
            raise

    @property
    def port(self):
        return self.masters[0].port

    def join(self, masters):
        first = self.servers[0]
        for number, server in enumerate(self.servers):
            self.ask(server, "CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for number, master in enumerate(self.masters):
            begin, end = SLOTS * number // masters, SLOTS * (number + 1) // masters - 1
            self.ask(master, "CLUSTER", "ADDSLOTSRANGE", begin, end)
        for server in self.servers[1:]:
            self.ask(server, "CLUSTER", "MEET", HOST, first.port)
        self.wait("all nodes know each other", self.all_met)
        ids = [self.ask(server, "CLUSTER", "MYID") for server in self.masters]
        for master, replicas in zip(ids, self.replicas):
            for replica in replicas:
                self.ask(replica, "CLUSTER", "REPLICATE", master)
        self.wait("the cluster is whole", self.is_whole)
        self.wait("replicas are linked", self.all_linked)

    def all_met(self):
        return all(
            self.ask(server, "CLUSTER", "NODES").count(f"{HOST}:") == len(self.servers)
            for server in self.servers
        )

    def is_whole(self):
        return all(
            "cluster_state:ok" in (info := self.ask(server, "CLUSTER", "INFO"))
            and f"cluster_slots_assigned:{SLOTS}" in info
            for server in self.servers
        )

    def all_linked(self):
        return all(
            "master_link_status:up" in self.ask(replica, "INFO", "replication")
            for replicas in self.replicas
            for replica in replicas
        )

    def all_agree(self):
        """Each node tells clients of the same places, and of every node: a replica is left out by
        those who have not yet heard, by gossip, that it has taken anything in."""
        told = [sorted(self.ask(server, "CLUSTER", "SLOTS").split()) for server in self.servers]
        ids = {self.ask(server, "CLUSTER", "MYID") for server in self.servers}
        return ids <= set(told[0]) and all(one == told[0] for one in told)

    def all_caught_up(self):
        return self.all_linked() and all(
            self.offset(replica) >= self.offset(master)
            for master, replicas in zip(self.masters, self.replicas)
            for replica in replicas
        )

    def offset(self, server):
        """Of the stream of changes: how much it has sent, or taken in."""
        told = dict(
            line.split(":", 1)
            for line in self.ask(server, "INFO", "replication").splitlines()
            if ":" in line
        )
        return int(told.get("slave_repl_offset", told["master_repl_offset"]))

    @staticmethod
    def wait(what, holds, patience=60):
        end = time.monotonic() + patience
        while not holds():
            if time.monotonic() > end:
                raise RuntimeError(f"the cluster is not ready: {what}")
            time.sleep(0.05)

    def ask(self, server, *words):
        """The answer as text; an array as its elements, one a line. An error is raised."""
        if server not in self.lines:
            with socket.create_connection((HOST, server.port), timeout=60) as line:
                self.lines[server] = line.makefile("rwb")
        stream = self.lines[server]
        raw = [str(word).encode() for word in words]
        sent = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in raw)
        stream.write(b"*%d\r\n" % len(raw) + sent)
        stream.flush()
        return self.read(stream, words)

    def read(self, stream, words):
        head = stream.readline().decode().rstrip()
        kind, rest = head[:1], head[1:]
        if kind == "-":
            raise RuntimeError(f"{words}: {rest}")
        if kind == "$":
            return "" if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode()
        if kind == "*":
            return "\n".join(self.read(stream, words) for _ in range(int(rest)))
        return rest

    def move_slots(self, first, count, to):
        """Slot by slot, key by key, as redis-cli --cluster reshard does, under load."""
        target = self.masters[to]
        target_id = self.ask(target, "CLUSTER", "MYID")
        moved = 0
        for slot in range(first, first + count):
            source = self.owner(slot)
            if source is target:
                continue
            source_id = self.ask(source, "CLUSTER", "MYID")
            self.ask(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", source_id)
            self.ask(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
            while keys := self.ask(source, "CLUSTER", "GETKEYSINSLOT", slot, 10).split():
                self.ask(source, "MIGRATE", HOST, target.port, "", 0, 5000, "KEYS", *keys)
                moved += len(keys)
            for server in (target, source):
                self.ask(server, "CLUSTER", "SETSLOT", slot, "NODE", target_id)
        return moved

    def owner(self, slot):
        for server in self.masters:
            for line in self.ask(server, "CLUSTER", "NODES").splitlines():
                words = line.split()
                if "myself" not in words[2]:
                    continue
                for part in words[8:]:
                    if part.startswith("["):
                        continue
                    low, _, high = part.partition("-")
                    if int(low) <= slot <= int(high or low):
                        return server
        raise RuntimeError(f"slot {slot} has no master")

    def fail_over(self, number):
        """The replica of that master takes its place, by agreement: nothing is lost."""
        replica = self.replicas[number][0]
        self.wait("replicas are linked", self.all_linked)
        # A master that is too busy to agree within five seconds is asked again.
        for _ in range(10):
            self.ask(replica, "CLUSTER", "FAILOVER")
            try:
                self.wait("the replica is master", lambda: self.is_master(replica), patience=6)
                break
            except RuntimeError:
                continue
        self.wait("the replica is master", lambda: self.is_master(replica), patience=1)
        self.masters[number], self.replicas[number][0] = replica, self.masters[number]

    def is_master(self, server):
        return "role:master" in self.ask(server, "INFO", "replication")

    def keys(self, server):
        return self.ask(server, "KEYS", "*").split()

    def stop(self):
        for line in self.lines.values():
            line.close()
        for server in self.servers:
            server.stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
