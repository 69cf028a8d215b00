#include <tools/redis/cf/cf_type.hpp>

#include <array>

#include <bloomery/served/native/native_cuckoo.hpp>
#include <bloomery/served/redisbloom/compat_cuckoo.hpp>
#include <tools/redis/server/caught.hpp>
#include <tools/redis/server/filter_type.hpp>
#include <tools/redis/server/saved_io.hpp>

namespace bloomery::redis {
namespace {

std::array<Type*, 2> types{};  // native, compat

constexpr const char* native_name = "bloomeryC";
constexpr const char* compat_name = "MBbloomCF";

void rewrite(IO* io, Str* key, void* value) { rewrite_pieces(io, "CF.LOADCHUNK", key, value); }

void* load_native(IO* io, int encoding) {
  return load_native<NativeCuckoo>(io, native_name, encoding);
}

void* load_compat(IO* io, int encoding) {
  SavedReader reader(io);
  return loaded(io, compat_name, CompatCuckoo::load(reader, encoding));
}

}  // namespace

bool register_cf_types(Ctx* ctx) {
  types[1] = create_type(ctx, {compat_name, 4, caught_load<load_compat>, caught_rewrite<rewrite>});
  types[0] = create_type(ctx, {native_name, 1, caught_load<load_native>, caught_rewrite<rewrite>});
  return types[0] != nullptr && types[1] != nullptr;
}

std::span<Type* const> cf_types() { return types; }
Type* native_cuckoo_type() { return types[0]; }
Type* compat_cuckoo_type() { return types[1]; }

}  // namespace bloomery::redis
