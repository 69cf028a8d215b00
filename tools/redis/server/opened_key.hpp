// A key of the server, open while this lives: missing, of one of our types, or of another.
#pragma once

#include <memory>
#include <span>

#include <bloomery/served/filter_body.hpp>
#include <tools/redis/server/api.hpp>

namespace bloomery::redis {

inline constexpr const char* wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

class OpenedKey {
 public:
  OpenedKey(Ctx* ctx, Str* name, int mode) : key_(api.open_key(ctx, name, mode)) {}
  OpenedKey(const OpenedKey&) = delete;
  OpenedKey& operator=(const OpenedKey&) = delete;
  ~OpenedKey() {
    if (key_ != nullptr) api.close_key(key_);
  }

  bool missing() const { return api.key_type(key_) == key_type::empty; }

  // The value, if it is of one of these types; else null.
  FilterBody* value_of(std::span<Type* const> types) const {
    if (api.key_type(key_) != key_type::module) return nullptr;
    Type* const type = api.module_type_get_type(key_);
    for (Type* const wanted : types) {
      if (type == wanted) return static_cast<FilterBody*>(api.module_type_get_value(key_));
    }
    return nullptr;
  }

  void set(Type* type, std::unique_ptr<FilterBody> body) {
    api.module_type_set_value(key_, type, body.release());
  }

 private:
  Key* key_;
};

}  // namespace bloomery::redis
