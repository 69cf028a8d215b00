#include <tools/redis/cf/cf_type.hpp>

#include <array>

#include <bloomery/served/native/native_cuckoo_body.hpp>
#include <bloomery/served/redisbloom/compat_cuckoo_body.hpp>
#include <tools/redis/server/saved_io.hpp>
#include <tools/redis/server/type_methods.hpp>

namespace bloomery::redis {
namespace {

std::array<Type*, 2> types{};  // native, compat

void aof_rewrite(IO* io, Str* key, void* value) {
  rewrite_pieces(io, "CF.LOADCHUNK", key, body_of<CuckooBody>(value));
}

void* native_load(IO* io, int encoding) {
  return load_native<NativeCuckoo, NativeCuckooBody>(io, encoding, "bloomeryC");
}

// -- MBbloomCF ------------------------------------------------------------------------------------

void compat_save(IO* io, void* value) {
  const CompatCuckoo& cuckoo = static_cast<const CompatCuckooBody*>(value)->cuckoo();
  const CompatCuckoo::Fields& fields = cuckoo.fields();
  api.save_unsigned(io, cuckoo.tables().size());
  api.save_unsigned(io, fields.buckets);
  api.save_unsigned(io, fields.keys);
  api.save_unsigned(io, fields.removed);
  api.save_unsigned(io, fields.bucket_size);
  api.save_unsigned(io, fields.max_iterations);
  api.save_unsigned(io, fields.expansion);
  for (std::size_t n = 0; n < cuckoo.tables().size(); ++n) {
    const HostBytes& table = cuckoo.tables()[n];
    api.save_unsigned(io, cuckoo.buckets_of(n));
    save_bytes(io, table);
  }
}

void* compat_load(IO* io, int encoding) {
  if (encoding != 4) return refuse(io, "MBbloomCF", "its encoding is unknown");
  SavedReader reader(io);
  CompatCuckoo::Fields fields;
  const std::uint64_t count = reader.number();
  fields.buckets = reader.number();
  fields.keys = reader.number();
  fields.removed = reader.number();
  fields.bucket_size = reader.number();
  fields.max_iterations = reader.number();
  fields.expansion = reader.number();
  std::vector<HostBytes> tables;
  // Each table is bytes that were read, so a count that lies ends at the end of the payload.
  for (std::uint64_t n = 0; n < count && !reader.failed(); ++n) {
    const std::uint64_t buckets = reader.number();
    HostBytes table = reader.bytes();
    std::uint64_t size = 0;
    if (__builtin_mul_overflow(buckets, fields.bucket_size, &size) || size != table.size() ||
        size == 0) {
      return refuse(io, "MBbloomCF", "a table has not the buckets that it says");
    }
    tables.push_back(unless_zero(std::move(table)));
  }
  if (reader.failed()) return refuse(io, "MBbloomCF", "it ends early");
  auto cuckoo = CompatCuckoo::from(fields, std::move(tables));
  if (!cuckoo) return refuse(io, "MBbloomCF", cuckoo.error().sentence.c_str());
  return new CompatCuckooBody(std::move(*cuckoo));
}

}  // namespace

bool register_cf_types(Ctx* ctx) {
  TypeMethods methods = shared_methods<CuckooBody>();
  methods.aof_rewrite = aof_rewrite;
  methods.rdb_load = compat_load;
  methods.rdb_save = compat_save;
  types[1] = api.create_data_type(ctx, "MBbloomCF", 4, &methods);
  methods.rdb_load = native_load;
  methods.rdb_save = save_native<CuckooBody>;
  types[0] = api.create_data_type(ctx, "bloomeryC", 1, &methods);
  return types[0] != nullptr && types[1] != nullptr;
}

std::span<Type* const> cf_types() { return types; }
Type* native_cuckoo_type() { return types[0]; }
Type* compat_cuckoo_type() { return types[1]; }

}  // namespace bloomery::redis
