// expect: lists.add(key)
// A new blocked key could make allowed keys match.
#include <bloomery/bloomery.hpp>

bool block(bloomery::Set<bloomery::Cascade>& lists, std::uint64_t key) { return lists.add(key); }
