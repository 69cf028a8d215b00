// The one header to include: sets whose kind is known when you compile (Set) and when you run
// (AnySet), every kind, and their files.
//
// Prefer single headers where build time counts. Apart from this one are guard.hpp (before a cache
// and a database), text/ (bloomery::text) and redis/ (bloomery::redis).
//
// Example:
//    bloomery::Set<bloomery::BlockedBloom> seen({.keys = 10'000'000, .rate = 0.01});
//    for (const std::string& page : urls)
//      if (seen.add(page)) crawl(page);            // true: surely new
//    seen.save("seen.bloom");
//
//    auto again = bloomery::Set<bloomery::BlockedBloom>::open("seen.bloom");
//    if (!again) return again.error();             // names the file, and what is wrong
//    if (!again->may_contain(url)) crawl(url);     // surely absent
//
// Start with set.hpp; docs/kinds.md says which kind when, docs/library.md how to use them.
// Errors:  Set throws, everything else returns a Result (error.hpp).
// Limits:  those of each kind: docs/kinds.md.
// Threads: docs/library.md has one table of what may run beside what.
#pragma once

#include <bloomery/any_set.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/image.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/set.hpp>
#include <bloomery/want.hpp>
