// The kinds of the register, one after the other, on the same keys.
#pragma once

#include <cstdint>
#include <string>

#include <bench/findings.hpp>
#include <bench/keys.hpp>

namespace bloomery::bench {

// A lot of keys, with a place for what is found on it.
template <class Key>
Findings findings_on(const KeyStore<Key>& keys, const Task& task);

// Appends a Finding for every kind of the register, or tells why one was left out.
template <class Key>
void measure_kinds(const KeyStore<Key>& keys, const Task& task, Findings& findings);

// An empty sentence, or why a subject is left out that takes so many bytes, its roofline included.
template <class Key>
std::string refusal_of_memory(const KeyStore<Key>& keys, const Task& task, std::uint64_t bytes);

}  // namespace bloomery::bench
