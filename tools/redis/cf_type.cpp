#include <tools/redis/cf_type.hpp>

#include <array>

#include <tools/redis/compat_cuckoo_body.hpp>
#include <tools/redis/native_cuckoo_body.hpp>
#include <tools/redis/pieces.hpp>
#include <tools/redis/saved_io.hpp>
#include <tools/redis/settings.hpp>

namespace bloomery::redis {
namespace {

std::array<Type*, 2> types{};  // native, compat

const CuckooBody& body_of(const void* value) { return *static_cast<const CuckooBody*>(value); }

// -- what all engines share -----------------------------------------------------------------------

void aof_rewrite(IO* io, Str* key, void* value) {
  rewrite_pieces(io, "CF.LOADCHUNK", key, body_of(value));
}

std::size_t mem_usage(const void* value) { return body_of(value).memory_bytes(); }

void digest(Digest* sum, void* value) { digest_pieces(sum, body_of(value)); }

void destroy(void* value) { delete static_cast<CuckooBody*>(value); }

std::size_t free_effort(Str*, const void* value) {
  return effort_to_free(body_of(value).payload_bytes());
}

void* copy(Str*, Str*, const void* value) { return body_of(value).clone().release(); }

// -- bloomeryC: the pieces one after the other, then an empty one ------------------------------

void native_save(IO* io, void* value) {
  for_each_piece(body_of(value), [&](std::uint64_t, std::string_view bytes) {
    api.save_string_buffer(io, bytes.data(), bytes.size());
  });
  api.save_string_buffer(io, "", 0);
}

// A head promises bytes that are not there yet, so RESTORE is held to the cap; what this server
// has saved is not.
void* native_load(IO* io, int encoding) {
  if (encoding != 1) return refuse(io, "bloomeryC", "its encoding is unknown");
  SavedReader reader(io);
  const ServerBytes first = reader.bytes();
  const std::uint64_t cap = cap_for(api.get_context_from_io(io));
  auto set = NativeCuckoo::load(first.text(), cap == UINT64_MAX ? 0 : cap);
  if (!set) return refuse(io, "bloomeryC", set.error().sentence.c_str());
  for (;;) {
    const ServerBytes piece = reader.bytes();
    if (reader.failed()) return refuse(io, "bloomeryC", "it ends early");
    if (piece.size() == 0) break;
    if (auto loaded = set->load_chunk(piece.text()); !loaded) {
      return refuse(io, "bloomeryC", loaded.error().sentence.c_str());
    }
  }
  return new NativeCuckooBody(std::move(*set));
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
    const ServerBytes& table = cuckoo.tables()[n];
    api.save_unsigned(io, cuckoo.buckets_of(n));
    api.save_string_buffer(io, reinterpret_cast<const char*>(table.data()), table.size());
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
  std::vector<ServerBytes> tables;
  // Each table is bytes that were read, so a count that lies ends at the end of the payload.
  for (std::uint64_t n = 0; n < count && !reader.failed(); ++n) {
    const std::uint64_t buckets = reader.number();
    ServerBytes table = reader.bytes();
    std::uint64_t size = 0;
    if (__builtin_mul_overflow(buckets, fields.bucket_size, &size) || size != table.size() ||
        size == 0) {
      return refuse(io, "MBbloomCF", "a table has not the buckets that it says");
    }
    tables.push_back(std::move(table));
  }
  if (reader.failed()) return refuse(io, "MBbloomCF", "it ends early");
  auto cuckoo = CompatCuckoo::from(fields, std::move(tables));
  if (!cuckoo) return refuse(io, "MBbloomCF", cuckoo.error().sentence.c_str());
  return new CompatCuckooBody(std::move(*cuckoo));
}

}  // namespace

bool register_cf_types(Ctx* ctx) {
  TypeMethods methods{.rdb_load = compat_load,
                      .rdb_save = compat_save,
                      .aof_rewrite = aof_rewrite,
                      .mem_usage = mem_usage,
                      .digest = digest,
                      .free = destroy,
                      .free_effort = free_effort,
                      .copy = copy};
  types[1] = api.create_data_type(ctx, "MBbloomCF", 4, &methods);
  methods.rdb_load = native_load;
  methods.rdb_save = native_save;
  types[0] = api.create_data_type(ctx, "bloomeryC", 1, &methods);
  return types[0] != nullptr && types[1] != nullptr;
}

std::span<Type* const> cf_types() { return types; }
Type* native_cuckoo_type() { return types[0]; }
Type* compat_cuckoo_type() { return types[1]; }

}  // namespace bloomery::redis
