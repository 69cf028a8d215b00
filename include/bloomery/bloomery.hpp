// The one header to include. Start with Set (bloomery/set.hpp); docs/kinds.md: which kind when.
#pragma once

#include <bloomery/any_set.hpp>
#include <bloomery/error.hpp>
#include <bloomery/hash.hpp>
#include <bloomery/image.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/set.hpp>
#include <bloomery/want.hpp>
