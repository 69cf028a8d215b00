// What help() says of each verb. The examples are run by tests/python/doc_test.py.
#pragma once

namespace bloomery::python::docs {

inline constexpr const char* set =
    R"(Set(keys=None, rate=None, *, kind='blocked', memory=0, range=None,
    most_count=0, removal=False, shards=0, seed=None, secret=None, lines=False)
--

A set of keys that takes a few bits a key, and may be wrong at a known rate.

keys is how many the set is to hold, or the keys themselves. rate is the
false-positive rate, 0.01 if it is not given; with memory (bytes), keys or
rate may be left out. kind: docs/kinds.md, or bloomery.kinds().

>>> seen = Set(1000, rate=0.001)
>>> seen.add('fig')              # True: surely new
True
>>> 'fig' in seen, 'plum' in seen
(True, False)
>>> len(Set(['a', 'b', 'b']))
2
)";
inline constexpr const char* bitmap = R"(Bitmap(low, high, keys=None)
--

An exact set of the integers from low to high, one bit for each of them.

>>> taken = Bitmap(0, 99, [3, 1, 4, 1, 5])
>>> list(taken), len(taken), 4 in taken
([1, 3, 4, 5], 4, True)
>>> list(taken - Bitmap(0, 99, [3]))
[1, 4, 5]
)";
inline constexpr const char* cascade =
    R"(Cascade(blocked, allowed, rate=None, *, seed=None, secret=None)
--

Matches every blocked key and no allowed one; any other at the rate.

>>> spam = Cascade(['bad', 'worse'], ['good'], rate=0.001)
>>> 'bad' in spam, 'good' in spam
(True, False)
)";
inline constexpr const char* add = R"(add($self, key, /)
--

Add a key; True if it was surely new.

>>> seen = Set(100)
>>> seen.add(7), seen.add(7)
(True, False)
)";
inline constexpr const char* remove = R"(remove($self, key, /)
--

Remove one copy of a key, or raise KeyError. Remove only what was added.

>>> cart = Set(100, kind='counting')
>>> cart.add('fig')
True
>>> cart.remove('fig')
>>> 'fig' in cart
False
)";
inline constexpr const char* discard = R"(discard($self, key, /)
--

Remove one copy of a key; False if it was not there.

>>> Set(100, kind='cuckoo').discard('fig')
False
)";
inline constexpr const char* count = R"(count($self, key, /)
--

How often a key was added: never too low, perhaps too high.

>>> words = Set(['a', 'b', 'a'], kind='spectral')
>>> words.count('a'), words.count('c')
(2, 0)
)";
inline constexpr const char* update = R"(update($self, keys, *, threads=1)
--

Add all keys; return how many were surely new.

keys: an array of integers, bytes or text, whatever has __arrow_c_array__ or
__arrow_c_stream__, or any iterable of keys. threads=0: one for each core;
kinds that cannot be shared among threads take one.

>>> seen = Set(1000)
>>> seen.update(range(10)), seen.update([8, 9, 10])
(10, 1)
)";
inline constexpr const char* add_all = R"(add_all($self, keys, out=None)
--

Add all keys; return an array of bool that tells which were surely new.

>>> import numpy
>>> Set(1000).add_all(numpy.array([1, 2, 1])).tolist()
[True, True, False]
)";
inline constexpr const char* contains_all = R"(contains_all($self, keys, out=None, *, threads=1)
--

Ask for all keys; return an array of bool that tells which may be there.

>>> Set(['a', 'b']).contains_all(['b', 'c']).tolist()
[True, False]
)";
inline constexpr const char* count_contained = R"(count_contained($self, keys, *, threads=1)
--

How many of the keys may be there.

>>> Set(['a', 'b']).count_contained(['b', 'c'])
1
)";
inline constexpr const char* remove_all = R"(remove_all($self, keys, out=None)
--

Remove one copy of each key; return an array of bool that tells which were there.

>>> cart = Set(['a', 'b'], kind='counting')
>>> cart.remove_all(['a', 'c']).tolist()
[True, False]
)";
inline constexpr const char* counts = R"(counts($self, keys, out=None)
--

An array of uint64: how often each key was added.

>>> words = Set(['a', 'b', 'a'], kind='spectral')
>>> words.counts(['a', 'b', 'c']).tolist()
[2, 1, 0]
)";
inline constexpr const char* copy = R"(copy($self, /)
--

A set of the same bits in memory of its own.

>>> one = Set(['a'])
>>> other = one.copy()
>>> other == one, other.add('b'), other == one
(True, True, False)
)";
inline constexpr const char* clear = R"(clear($self, /)
--

Forget every key; the plan stays.

>>> seen = Set(['a'])
>>> seen.clear()
>>> len(seen)
0
)";
inline constexpr const char* advance_to = R"(advance_to($self, time, span)
--

Of a window: it is now this time, and only keys of the last span count.

>>> recent = Set(1000, kind='window')
>>> recent.advance_to(0, 60)
>>> recent.add('fig')
True
>>> recent.advance_to(200, 60)
>>> 'fig' in recent
False
)";
inline constexpr const char* cap_memory = R"(cap_memory($self, bytes, /)
--

Of a kind that grows: no further than this; then Full is raised. 0: no cap.
)";
inline constexpr const char* open = R"(open($type, path, *, live=False, verify=True, secret=None,
     durability=None, interval=None, read_only=False)
--

The set in a file, mapped: read page by page, and shared by all processes.

What is added stays in memory until save(). verify=False does not read the
whole file first: an instant start, but damage goes unnoticed. A Bitmap or a
Cascade is returned where the file holds one.

>>> Set(['a']).save('fruit.set')
>>> with Set.open('fruit.set') as fruit:
...     'a' in fruit
True

live=True is for live files (docs/live.md): any number of processes add to one
and ask it at once, and each key is new to one of them. What was added survives
the end of the process, kill -9 too. durability is for power cuts: 'interval'
(the usual) syncs in the background, each second or so many as interval says;
'every' before add() or update() returns; 'none' never. read_only=True asks.

>>> Set(1000).save('shared.live', live=True)
>>> with Set.open('shared.live', live=True) as seen:
...     seen.add('fig'), seen.add('fig')
(True, False)
)";
inline constexpr const char* from_bytes = R"(from_bytes($type, data, *, secret=None)
--

The set in the bytes of a file.

>>> 'a' in Set.from_bytes(Set(['a']).to_bytes())
True
)";
inline constexpr const char* save = R"(save($self, path, *, overwrite=None, live=False)
--

Write a file; under its name is the old one or the new one, never half of it.

live=True makes a live file, for Set.open(path, live=True), and overwrites only
if it is told to. No live file is overwritten.

>>> Set(['a']).save('plums.set')
>>> Set(['a']).save('plums.set', overwrite=False)
Traceback (most recent call last):
bloomery.Exists: plums.set already exists; choose another name or allow it to be replaced
)";
inline constexpr const char* to_bytes = R"(to_bytes($self, /)
--

What the file would hold. A secret is among it.
)";
inline constexpr const char* reduce = R"(__reduce__($self, /)
--

For pickle: the bytes of the file.
)";
inline constexpr const char* sync = R"(sync($self, /)
--

Of a live set: when it returns, all that was added so far survives a power cut.
)";
inline constexpr const char* checkpoint = R"(checkpoint($self, /)
--

Of a live set: bring the set itself to the disk and empty its log.

The next open then has little to do after a power cut.
)";
inline constexpr const char* seal = R"(seal($self, /)
--

Make an ordinary file of a live one, in its place, and close the set.

Other processes that have it open get an error from their next add.

>>> Set(['a']).save('grown.live', live=True)
>>> Set.open('grown.live', live=True).seal()
>>> 'a' in Set.open('grown.live')
True
)";
inline constexpr const char* close = R"(close($self, /)
--

Give the memory, or the mapping of the file, back. Using the set raises Closed.

A live set is synced; an error of that is raised.

>>> seen = Set(10)
>>> seen.close()
>>> 1 in seen
Traceback (most recent call last):
bloomery.Closed: the set is closed: open it again to use it
)";
inline constexpr const char* enter = R"(__enter__($self, /)
--

The set, to be closed at the end of the with block.
)";
inline constexpr const char* estimate = R"(estimate($self, /)
--

The number of keys, from the bits alone; inf when every bit is set.
)";
inline constexpr const char* rate_now = R"(rate_now($self, /)
--

The false-positive rate, from the bits alone.

>>> Set(1000).rate_now()
0.0
)";
inline constexpr const char* fill_ratio = R"(fill_ratio($self, /)
--

Ones divided by bits.
)";
inline constexpr const char* size_of = R"(__sizeof__($self, /)
--

Bytes in memory, or mapped.
)";
inline constexpr const char* to_numpy = R"(to_numpy($self, dtype='uint64')
--

The members in ascending order, as an array of uint64 or uint32.

>>> Bitmap(0, 99, [9, 1]).to_numpy().tolist()
[1, 9]
)";
inline constexpr const char* rank = R"(rank($self, number, /)
--

How many members are smaller than this number.

>>> Bitmap(0, 99, [9, 1]).rank(9)
1
)";
inline constexpr const char* select = R"(select($self, smaller, /)
--

The member with so many smaller ones.

>>> Bitmap(0, 99, [9, 1]).select(1)
9
)";

}  // namespace bloomery::python::docs
