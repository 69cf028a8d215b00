// Building static sets with several threads: same bytes as with one.
//
//    keys --each thread a slice--> shards --each thread one at a time--> payload
//
// The kinds divide the work (crew.hpp); threads are lent from here.
// Limits:  if the system refuses threads, the caller's thread does all the work.
// Threads: the caller's and those that are started here; all have ended when a call returns.
#pragma once

#include <bloomery/detail/sets/build/build.hpp>
#include <bloomery/detail/sets/build/crew.hpp>
#include <bloomery/want.hpp>

namespace bloomery::inline v0::detail {

Crew crew_of(Threads threads);

}  // namespace bloomery::inline v0::detail
