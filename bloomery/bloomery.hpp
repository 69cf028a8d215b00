// The one header to include. Start with Set (bloomery/set.hpp); docs/kinds.md: which kind when.
#pragma once

#include <bloomery/error.hpp>
#include <bloomery/hash/hash.hpp>
#include <bloomery/set.hpp>
#include <bloomery/set_build.hpp>
#include <bloomery/sets/any_set.hpp>
#include <bloomery/sets/kinds.hpp>
#include <bloomery/storage/image.hpp>
