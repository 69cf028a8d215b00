"""Sets on a Redis server or Redis Cluster, shared by any number of programs; no module needed.

    from bloomery.redis import RedisSet
    seen = RedisSet('redis://localhost/0/seen', keys=10_000_000, rate=0.001)
    seen.add('https://example.org/')

The same sets as those of the command (docs/scale.md) and of bloomery::RedisSet in C++.
"""
try:
    from bloomery._redis import RedisSet
except ModuleNotFoundError as missing:
    raise ImportError(
        "this build of bloomery has no Redis: build it with libhiredis-dev and liburiparser-dev"
    ) from missing

__all__ = ["RedisSet"]
