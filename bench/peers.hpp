// Sets of other libraries, as Debian installs them, under the same clock as ours.
//
//    libbloom              bloom_add, bloom_check
//    LevelDB               its Bloom policy: a filter is made of all keys at once (build)
//    absl, boost, std      hash sets; told the number of keys before, as our sets are; texts are
//                          copied into them, since a set of views owns nothing
//
// A peer whose package was missing when this was compiled is told among those left out. Their
// roofline is that of a blocked set of the same keys and rate: what the job could take.
#pragma once

#include <bench/findings.hpp>
#include <bench/keys.hpp>

namespace bloomery::bench {

template <class Key>
void measure_peers(const KeyStore<Key>& keys, const Task& task, Findings& findings);

}  // namespace bloomery::bench
