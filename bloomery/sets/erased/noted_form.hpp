// The form of keys that an AnySet has noted. Threads that share a live set read and join it.
#pragma once

#include <atomic>

#include <bloomery/key_rules.hpp>

namespace bloomery::inline v0::detail {

inline KeyForm noted_form(const KeyRules& rules) {
  return std::atomic_ref(const_cast<KeyForm&>(rules.form)).load(std::memory_order_relaxed);
}

// Of two threads at once one may be forgotten; then the body has refused one of them, or the forms
// were the same.
inline void join_noted_form(KeyRules& rules, KeyForm form) {
  const KeyForm before = noted_form(rules);
  if (const KeyForm now = joined(before, form); now != before)
    std::atomic_ref(rules.form).store(now, std::memory_order_relaxed);
}

}  // namespace bloomery::inline v0::detail
