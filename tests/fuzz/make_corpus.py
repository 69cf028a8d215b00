#!/usr/bin/env python3
"""Makes the corpora of the fuzzers again: make_corpus.py BLOOMERY BLOOMERY.SO

Small real inputs: images that the command makes of every kind, dumps of the module on a Redis
server, streams of real compressors, texts of the documentation. What stands before them in an
input is told in the fuzzer of that name.
"""
import bz2
import gzip
import lzma
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))

from redis_server import RedisServer  # noqa: E402
from resp import Resp  # noqa: E402

COMMAND, MODULE = sys.argv[1:3]


def short(text):
    """A text behind its length in one byte."""
    return bytes([len(text)]) + text


# -- images ---------------------------------------------------------------------------------------


def condensed(image):
    """An image without what follows from the rest: condensed_image.hpp."""
    length = struct.unpack_from("<Q", image, 96)[0]
    directory = image[8192 : 8192 + length]
    payloads = b""
    for record in range(struct.unpack_from("<I", directory, 4)[0]):
        offset, size = struct.unpack_from("<QQ", directory, 32 + 256 * record + 72)
        payloads += image[offset : offset + size]
    return bytes(6) + image[:144] + struct.pack("<H", length) + directory + payloads.rstrip(b"\0")


def images():
    def lines(first, last, before="key "):
        return "".join(f"{before}{n}\n" for n in range(first, last + 1)).encode()

    sized = ["-n", "20", "-p", "1%"]
    texts, numbers, grown = lines(1, 20), lines(100, 120, ""), lines(1, 300, "")
    orders = {kind: (["--kind", kind, *sized], texts) for kind in
              ["classic", "blocked", "split-block", "counting", "spectral", "cuckoo", "window",
               "scalable", "chain", "sharded"]}
    orders |= {kind: (["--kind", kind], texts) for kind in ["hash-set", "compact"]}
    orders |= {kind: (["--kind", kind, "-p", "1%"], texts) for kind in ["fuse", "ribbon"]}
    orders |= {kind: (["--kind", kind, "--range", "100..227"], numbers) for kind in
               ["bitmap", "two-bit"]}
    orders["sharded-4"] = (["--kind", "sharded", "--shards", "4", "-n", "400", "-p", "10%"], texts)
    orders["spectral-removable"] = (
        ["--kind", "spectral", "--removable", "-n", "8", "-p", "10%"], numbers)
    orders["hardened"] = (["--hardened", "--normalize", "url", *sized], texts)
    orders["scalable-grown"] = (["--kind", "scalable", "-n", "4", "-p", "1%"], grown)
    orders["chain-grown"] = (["--kind", "chain", "-n", "16", "-p", "1%"], grown)
    with tempfile.TemporaryDirectory() as folder:
        allowed = Path(folder, "allowed")
        allowed.write_bytes(lines(500, 560))
        orders["cascade"] = (["--kind", "cascade", "--allow", str(allowed)], texts)
        for name, (flags, keys) in orders.items():
            made = Path(folder, name)
            subprocess.run([COMMAND, "build", "-o", made, *flags], input=keys, check=True,
                           capture_output=True)
            yield name, condensed(made.read_bytes())


# -- texts ----------------------------------------------------------------------------------------


def csv():
    yield "plain", b"\x01,id,name\r\n1,Smith\r\n2,\n"
    yield "quoted", b'\x12,id,"na""me"\n1,"Smith, Joe"\n2,"two\nlines"\n3,5" pipe\n"a"b,c'
    yield "semicolons", b'\x35;a;b;;"";"c;d"\r\n\r\n;'


def json_path():
    record = b'{"user":{"id":7,"na\\u006de":"Z\\u00fcrich"},"list":[1.50e3,null,true,"\\"x\\""]}'
    paths = {"number": b".user.id", "escaped": b".user.name", "element": b".list[3]",
             "object": b".user", "null": b".list[1]", "quoted": b'."user"."id"'}
    for name, path in paths.items():
        yield name, short(path) + record
    yield "array", short(b".[1][0].a") + b' [0,[{"a":"b\\ud83d\\ude00"}]]\r'


def fields():
    def spans(*numbers):
        return struct.pack(f"<{len(numbers)}b", *numbers)

    yield "whole-line", b"\x03\x00\x00HTTP://Example.com/%7ea?b=2&a=1\r\nb"
    yield "blanks", b"\x00\x01\x01" + spans(2, 2) + b"a  b\tc\n d\n"
    yield "separated", b"\x01\x01\x06" + spans(1, 1, 3, -1) + b":x:y:zz:\na:b\r\n"
    yield "csv", b"\x00\x02\x10" + short(b"name") + short(b"1,id") + b'id,name\n1,"a,b"\n2,c\n'
    yield "headless", b"\x00\x02\x02" + spans(1, 1, 2, 2) + b'1,"a,b"\n2,c\n'
    yield "tsv", b"\x01\x03\x08" + short(b"2") + b"id\tname\n1\ta\n"
    paths = short(b".a") + short(b".b[0]")
    yield "json", b"\x02\x04\x10" + paths + b'{"a":null,"b":["x"]}\n{"a":1}'


def url():
    yield "plain", b"HTTP://user@Example.COM:80/a%7eb/c d?b=2&a#top"
    yield "crawled", b"https://www.example.org:443/x/../a/./index.html;jsessionid=1?utm_id=n&z"
    yield "ipv6", b"http://[2001:DB8::1]:8080//?&&=&a=%C3%BC"
    yield "odd", b"ftp://a%2eb:007/%zz?%2B+#"
    yield "mail", b" Joe.Smith@Example.COM\t"


def units():
    for name, which, texts in [
            ("keys", 0, [b"10M", b"1_000", b"2.5k", b"1e9"]),
            ("memory", 1, [b"2GiB", b"512K", b"0.7G"]),
            ("rate", 2, [b"0.1%", b"1/1000", b"1e-3"]), ("time", 3, [b"30min", b"500ms", b"7d"]),
            ("network", 4, [b"2.5G"]), ("range", 5, [b"0..9999999", b"5..2M"]),
            ("seed", 6, [b"0x1F", b"18446744073709551615"]), ("escape", 7, [b"\\t::\\x00\\\\"]),
            ("fields", 8, [b"1,3", b"2-", b"-1,2-4"])]:
        for number, text in enumerate(texts):
            yield f"{name}-{number}", bytes([which]) + text


def redis_address():
    yield "short", b"\0redis://h/n"
    yield "long", (b"\0redis://me:p%40ss@10.0.0.7:7001/3/seen"
                   b"?timeout=500ms&ttl=24h&read=replicas&wait=2")
    yield "ipv6", b"\0redis://[::1]:6379/0/seen?timeout=2min"
    yield "unescaped", b"\1" + short(b"me") + short(b"7/") + b"host:6379/0/seen?wait=1"


def redis_replies():
    yield "simple", b"\x01+OK\r\n-ERR unknown command\r\n:12\r\n"
    yield "bulk", b"\x03$5\r\nhello\r\n$-1\r\n$0\r\n\r\n"
    yield "slots", (b"\x07*2\r\n*3\r\n:0\r\n:8191\r\n*3\r\n$9\r\n127.0.0.1\r\n:7001\r\n*0\r\n"
                    b"*3\r\n:8192\r\n:16383\r\n*2\r\n$0\r\n\r\n:7002\r\n")
    info = b"role:master\r\nslave0:ip=127.0.0.1,port=7001,state=online,offset=1\r\n"
    yield "replicas", b"\x07$%d\r\n%s\r\n" % (len(info), info)
    yield "moved", b"\x02-MOVED 3999 127.0.0.1:6381\r\n-ASK 16383 ::1:7\r\n"
    yield "law", (b"\xffblocked blocks=163840 probes=6 shard_blocks=640 capacity=1000000 rate=0.01 "
                  b"hash=xxh3-64 seed=7 strip_cr=1 normalisation=url/1 made_from=-k%202 "
                  b"making=reserve expires_at=0")
    yield "hardened", (b"\xffblocked blocks=64 probes=6 shard_blocks=64 capacity=100 rate=0.01 "
                       b"hash=siphash-1-3 key=0123456789abcdef0123456789abcdef strip_cr=0 "
                       b"making=upload expires_at=1700000000000")


# -- compressed streams ---------------------------------------------------------------------------


def decoders():
    text = b"".join(b"line %d of some\n" % (n % 7) for n in range(40))

    def by_program(*command):
        return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout

    small = {"dict_size": 4096, "id": lzma.FILTER_LZMA2, "preset": 0}
    streams = {"gzip": gzip.compress(text, mtime=0), "bzip2": bz2.compress(text, 1),
               "xz": lzma.compress(text, check=lzma.CHECK_CRC32, filters=[small]),
               "zstd": by_program("zstd", "-qc"), "lz4": by_program("lz4", "-qc")}
    for name, stream in streams.items():
        yield name, b"\x05\x40" + stream
        yield name + "-twice", b"\x20\x07" + stream + stream
        yield name + "-padded", b"\x01\x01" + stream + bytes(12)
        yield name + "-cut", b"\x10\xff" + stream[:-5]
    yield "zstd-skipped", b"\x02\x09" + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + streams["zstd"]
    yield "gzip-empty", b"\x02\x09" + gzip.compress(b"", mtime=0)
    yield "bzip2-empty", b"\x02\x09" + bz2.compress(b"")


# -- dumps of the module --------------------------------------------------------------------------


def dumps_of(client, family, key):
    """Pieces as LOADCHUNK takes them: the position behind each, and its bytes."""
    position, pieces = 0, []
    while True:
        position, piece = client.ask(f"{family}.SCANDUMP", key, position)
        if position == 0:
            return pieces
        pieces.append((position, piece))


def module_payloads():
    def sized(piece):
        return struct.pack("<H", len(piece)) + piece

    orders = [("small", 5), ("laid-out", 150), ("grown", 400)]
    for number, (engine, options) in enumerate([("native", []), ("compat", ["ENGINE", "compat"])]):
        with RedisServer("--loadmodule", MODULE, *options) as server:
            client = Resp(server.port)
            for family, offset in [("BF", 0), ("CF", 1)]:
                for name, keys in orders:
                    key = f"{family}-{name}"
                    reserve = ["0.1", "20"] if family == "BF" else ["64"]
                    client.ask(f"{family}.RESERVE", key, *reserve)
                    for n in range(keys):
                        client.ask(f"{family}.ADD", key, f"key {n}")
                    first, *others = dumps_of(client, family, key)
                    which = 2 * number + offset
                    pieces = sized(first[1])
                    for position, piece in others:
                        pieces += struct.pack("<H", position & 0xFFFF) + sized(piece)
                    yield f"{engine}-{key.lower()}", bytes([which]) + pieces
                    if engine == "native":
                        body = b"".join(sized(piece) for _, piece in [first, *others])
                        yield f"{engine}-{key.lower()}-rdb", bytes([which | 4]) + body + sized(b"")
    bits_per_entry = bytes.fromhex("4af7d49edef01840")
    link = struct.pack("<QdQ", 10, 0.05, 5) + bits_per_entry + struct.pack("<QQ", 64, 0)
    yield "compat-bf-rdb", (b"\x06" + struct.pack("<4Q", 1, 1, 5, 2) + link +
                            sized(b"\1\x08\0\x80\0\4\x20\0") + struct.pack("<Q", 1))
    yield "compat-cf-rdb", (b"\x07" + struct.pack("<8Q", 1, 4, 1, 0, 2, 20, 1, 4) +
                            sized(b"\0\0\0\0\7\0\0\0"))


def live_log():
    def record(op, words, form, run, flaw, *content):
        return (bytes([op - 1, words - 1, form]) + struct.pack("<H", run) +
                bytes([flaw, len(content)]) + struct.pack(f"<{len(content)}Q", *content))

    adds = [record(1, 1, 1, 0, 0, 7, 8, 9), record(1, 1, 1, 0, 0, 10)]
    yield "adds", b"\x05\x01\x00\x02" + b"".join(adds)
    yield "torn", b"\x05\x01\x00\x03" + b"".join(adds) + record(1, 1, 1, 0, 251, 11)
    runs = [record(1, 2, 1, 3, 1, 1, 2, 3, 4), record(5, 1, 1, 3, 0, 9, 1, 0),
            record(6, 1, 1, 4, 1), record(4, 2, 1, 0, 0, 60, 10), record(3, 1, 0, 0, 0)]
    yield "runs", b"\x00\x02\x01\x05" + b"".join(runs) + b"BLML what is behind the end"


def write(target, inputs):
    folder = HERE / "corpus" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in inputs:
        (folder / name).write_bytes(text)


for make in [images, csv, json_path, fields, url, units, redis_address, redis_replies, decoders,
             module_payloads, live_log]:
    write("image" if make is images else make.__name__, make())
