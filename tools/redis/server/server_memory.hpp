// All bytes of filters come from the server, which counts them against maxmemory.
//
// Zeroed bytes are pages that nobody has touched: the kernel zeroes each at its first touch, so
// that a filter that was reserved takes time and memory only as it is filled.
// Large filters are advised to lie on huge pages when they are filled to a quarter or were loaded,
// since they are asked at random places: BF.EXISTS of one reserved for 10^8 took the server 0.78 us
// on them and 0.90 us without. Not before: a touch would zero 2 MiB, and where memory is fragmented
// the kernel took 36 ms for that. After a fork Linux (5.8 and later) copies 4 KiB of a huge page
// that is written to, as of any other.
// Threads: bytes may be given back on a thread of the server.
#pragma once

namespace bloomery::redis {

// To be called once, when the interface is bound.
void take_memory_from_server();

}  // namespace bloomery::redis
