// What build, info and verify tell of a set, wherever its bytes are: a file, a server, the memory
// of a browser. The set was measured before (AnySet::measure).
#pragma once

#include <cstdint>
#include <string>

#include <bloomery/any_set.hpp>
#include <bloomery/image.hpp>
#include <tools/inside.hpp>

#include "report.hpp"

namespace bloomery::cli {

// The error of the library, with the name of the file it is about. What the file was compressed by,
// if it is not ours: "gzip", or nothing.
Error file_error(const std::string& path, const Error& error, const std::string& codec);

// "xxh3-64", "siphash-1-3", or "none" for exact maps.
std::string hash_name(const AnySet& set);

// What build and info both tell: kind, keys, keys_estimated, capacity, bytes, bits_per_key, fill,
// rate_asked, rate_now, hash, hardened; of a cascade allowed and exceptions. bits_per_key counts
// the keys that are in the set. From adds: what can be told without reading the set; no
// keys_estimated and no fill then, and rate_now by the formula.
enum class FactsFrom { bits, adds };
void describe_set(Report& report, const AnySet& set, FactsFrom from = FactsFrom::bits);
// room_left: keys until it is as full as planned; infinite for what grows.
void describe_room(Report& report, const AnySet& set);
// What only info tells: the room that is left, its shape or range.
void describe_inside(Report& report, const AnySet& set);
// How keys become hashes, and where the secret key of a hardened one is.
void describe_keys(Report& report, const AnySet& set, std::string secret_key);
void describe_file(Report& report, std::uint64_t bytes, const Uuid& uuid);

}  // namespace bloomery::cli
