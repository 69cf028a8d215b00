// The one header to include: sets whose kind is known when you compile (Set) and when you run
// (AnySet), every kind, and their files.
//
//    #include <bloomery/bloomery.hpp>
//
//    bloomery::Set<bloomery::BlockedBloom> seen({.keys = 10'000'000, .rate = 0.01});
//    for (std::string_view url : urls)
//      if (seen.add(url)) crawl(url);                 // true: surely new
//    seen.save("seen.bloom");
//
// Start with set.hpp; docs/kinds.md says which kind when. Apart from it are guard.hpp (before a
// cache and a database), text/ (bloomery::text) and redis/ (bloomery::redis).
// Errors:  Set throws, everything else returns a Result (error.hpp).
// Threads: docs/library.md has one table of what may run beside what.
#pragma once

#include <bloomery/any_set.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/image.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/set.hpp>
#include <bloomery/want.hpp>
