#include <tools/redis/bf/bf_type.hpp>

#include <array>

#include <bloomery/served/native/native_bloom_body.hpp>
#include <bloomery/served/redisbloom/compat_bloom_body.hpp>
#include <tools/redis/server/saved_io.hpp>
#include <tools/redis/server/type_methods.hpp>

namespace bloomery::redis {
namespace {

std::array<Type*, 2> types{};  // native, compat

void aof_rewrite(IO* io, Str* key, void* value) {
  rewrite_pieces(io, "BF.LOADCHUNK", key, body_of<BloomBody>(value));
}

void* native_load(IO* io, int encoding) {
  return load_native<NativeBloom, NativeBloomBody>(io, encoding, "bloomery-");
}

// -- MBbloom-- ------------------------------------------------------------------------------------

void compat_save(IO* io, void* value) {
  const CompatBloom& bloom = static_cast<const CompatBloomBody*>(value)->bloom();
  api.save_unsigned(io, bloom.keys());
  api.save_unsigned(io, bloom.links().size());
  api.save_unsigned(io, bloom.options());
  api.save_unsigned(io, bloom.growth());
  for (const CompatBloom::Link& link : bloom.links()) {
    api.save_unsigned(io, link.entries);
    api.save_double(io, link.error);
    api.save_unsigned(io, link.probes);
    api.save_double(io, link.bits_per_entry);
    api.save_unsigned(io, std::uint64_t{link.bits.size()} * 8);
    api.save_unsigned(io, 0);
    save_bytes(io, link.bits);
    api.save_unsigned(io, link.keys);
  }
}

// A number that its 32-bit field can hold; else one that no check lets pass.
std::uint32_t narrow(std::uint64_t number) {
  return number > UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(number);
}

// Encoding 2 and 3 had no growth: it was 2.
void* compat_load(IO* io, int encoding) {
  if (encoding < 2 || encoding > 4) return refuse(io, "MBbloom--", "its encoding is unknown");
  SavedReader reader(io);
  CompatBloom::Fields fields;
  fields.keys = reader.number();
  const std::uint64_t links = reader.number();
  fields.options = narrow(reader.number());
  fields.growth = encoding < 4 ? 2 : narrow(reader.number());
  // Each link is bytes that were read, so a count that lies ends at the end of the payload.
  for (std::uint64_t n = 0; n < links && !reader.failed(); ++n) {
    CompatBloom::Link link;
    link.entries = reader.number();
    link.error = reader.real();
    link.probes = narrow(reader.number());
    link.bits_per_entry = reader.real();
    const std::uint64_t bits = reader.number();
    const std::uint64_t rounded_bits = reader.number();
    link.bits = reader.bytes();
    link.keys = reader.number();
    if (rounded_bits != 0 || link.bits.size() == 0 || bits != std::uint64_t{link.bits.size()} * 8) {
      return refuse(io, "MBbloom--", "a link has not the bits that it says");
    }
    link.bits = unless_zero(std::move(link.bits));
    fields.links.push_back(std::move(link));
  }
  if (reader.failed()) return refuse(io, "MBbloom--", "it ends early");
  auto bloom = CompatBloom::from(std::move(fields));
  if (!bloom) return refuse(io, "MBbloom--", bloom.error().sentence.c_str());
  return new CompatBloomBody(std::move(*bloom));
}

}  // namespace

bool register_bf_types(Ctx* ctx) {
  TypeMethods methods = shared_methods<BloomBody>();
  methods.aof_rewrite = aof_rewrite;
  methods.rdb_load = compat_load;
  methods.rdb_save = compat_save;
  types[1] = api.create_data_type(ctx, "MBbloom--", 4, &methods);
  methods.rdb_load = native_load;
  methods.rdb_save = save_native<BloomBody>;
  types[0] = api.create_data_type(ctx, "bloomery-", 1, &methods);
  return types[0] != nullptr && types[1] != nullptr;
}

std::span<Type* const> bf_types() { return types; }
Type* native_bloom_type() { return types[0]; }
Type* compat_bloom_type() { return types[1]; }

}  // namespace bloomery::redis
