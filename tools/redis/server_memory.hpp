// All bytes of filters come from the server, which counts them against maxmemory.
//
// Large ones are advised to lie on huge pages, since a filter is asked at random places: BF.EXISTS
// of one reserved for 10^8 took the server 0.78 us with them and 0.90 us without. After a fork
// Linux (5.8 and later) copies 4 KiB of a huge page that is written to, as of any other.
// Threads: bytes may be given back on a thread of the server.
#pragma once

namespace bloomery::redis {

// To be called once, when the interface is bound.
void take_memory_from_server();

}  // namespace bloomery::redis
