#include <bloomery/detail/bits/memory.hpp>

#ifndef __wasi__
#include <sys/mman.h>
#endif

#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace bloomery::inline v0::detail {
namespace {

// Below this size a mapping of its own wastes more than huge pages gain.
constexpr std::size_t mapped_from_bytes = std::size_t{4} << 20;

Error no_memory(std::uint64_t bytes) {
  return {Code::no_memory, "the system does not give " + std::to_string(bytes) +
                               " bytes of memory; ask for fewer keys or a higher rate"};
}

// Half of what a pointer can tell apart is the system's, and another half is left for growing.
constexpr std::uint64_t most_bytes = std::numeric_limits<std::size_t>::max() / 4;

Error beyond_address(std::uint64_t bytes) {
  return {Code::no_memory, "the set needs " + std::to_string(bytes) +
                               " bytes, more than this machine can address; ask for fewer keys or "
                               "a higher rate"};
}

Lender& lender() {
  static Lender named;
  return named;
}

// Returns the block when the owner is destroyed. A block that was moved elsewhere is nullptr.
struct OnLoan {
  void* lent;
  void (*give_back)(void*);
  void operator()(void*) const {
    if (lent != nullptr) give_back(lent);
  }
};

// The first cache line within a block.
std::byte* aligned_in(void* lent) {
  const auto at = reinterpret_cast<std::uintptr_t>(lent) % memory_alignment;
  return static_cast<std::byte*>(lent) + (at == 0 ? 0 : memory_alignment - at);
}

// Extra bytes, so that the start can be moved to a cache line.
std::shared_ptr<void> on_loan(std::size_t bytes) {
  void* lent = lender().take_zeroed(bytes + memory_alignment);
  if (lent == nullptr) return nullptr;
  return {aligned_in(lent), OnLoan{lent, lender().give_back}};
}

std::shared_ptr<void> on_heap(std::size_t bytes) {
  const std::size_t rounded = (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
  void* start = std::aligned_alloc(memory_alignment, rounded);
  if (start == nullptr) return nullptr;
  std::memset(start, 0, rounded);
  return {start, std::free};
}

std::size_t in_huge_pages(std::size_t bytes) {
  return (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
}

#ifndef __wasi__
// Unmaps when the owner is destroyed. A mapping that was moved elsewhere has length 0.
struct Unmap {
  std::size_t length;
  void operator()(void* start) const {
    if (length != 0) ::munmap(start, length);
  }
};

// Maps one huge page more than asked, so that a 2 MiB boundary lies inside, and gives back what is
// before and behind. Anonymous pages are zero and cost nothing until touched.
std::byte* map_huge_pages(std::size_t rounded) {
  const std::size_t mapped = rounded + huge_page_bytes;
  void* raw = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(raw);
  const std::size_t before =
      (huge_page_bytes - reinterpret_cast<std::uintptr_t>(raw) % huge_page_bytes) % huge_page_bytes;
  auto* start = first + before;
  if (before != 0) ::munmap(first, before);
  if (before != huge_page_bytes) ::munmap(start + rounded, huge_page_bytes - before);
  ::madvise(start, rounded, MADV_HUGEPAGE);  // advice: a refusal costs speed, nothing else
  return start;
}

std::shared_ptr<void> on_huge_pages(std::size_t bytes) {
  const std::size_t rounded = in_huge_pages(bytes);
  std::byte* const start = map_huge_pages(rounded);
  if (start == nullptr) return nullptr;
  return {start, Unmap{rounded}};
}

#else
// The memory of WebAssembly has no pages to map: all of it comes from the heap.
struct Unmap {
  std::size_t length;
};
std::shared_ptr<void> on_huge_pages(std::size_t bytes) { return on_heap(bytes); }
#endif

#ifdef __linux__
// The pages of `from` move to the start of a larger mapping, huge ones whole, since both start on
// a 2 MiB boundary. The new length goes along: a mapping that was moved in front of another one
// would stay a second one, and kernels before 6.17 move one at a time. Returns nullptr, with
// nothing changed, when the system refuses.
std::shared_ptr<void> moved_to_larger(const std::shared_ptr<void>& from, std::size_t bytes) {
  Unmap* const held = std::get_deleter<Unmap>(from);
  if (held == nullptr || from.use_count() != 1) return nullptr;
  const std::size_t rounded = in_huge_pages(bytes);
  std::shared_ptr<void> larger = on_huge_pages(rounded);
  if (larger == nullptr) return nullptr;
  if (::mremap(from.get(), held->length, rounded, MREMAP_MAYMOVE | MREMAP_FIXED, larger.get()) ==
      MAP_FAILED)
    return nullptr;
  held->length = 0;
  return larger;
}
#else
std::shared_ptr<void> moved_to_larger(const std::shared_ptr<void>&, std::size_t) { return nullptr; }
#endif

}  // namespace

Result<Memory> Memory::make(std::uint64_t bytes) {
  if (bytes > most_bytes) return beyond_address(bytes);
  Memory memory;
  if (bytes == 0) return memory;
  const auto size = static_cast<std::size_t>(bytes);
  if (lender().take_zeroed != nullptr)
    memory.owner_ = on_loan(size);
  else
    memory.owner_ = size < mapped_from_bytes ? on_heap(size) : on_huge_pages(size);
  if (memory.owner_ == nullptr) return no_memory(bytes);
  memory.bytes_ = {static_cast<std::byte*>(memory.owner_.get()), size};
  return memory;
}

Result<void> Memory::grow(std::uint64_t bytes) {
  assert(bytes >= size() && "memory grows");
  if (bytes > most_bytes) return beyond_address(bytes);
  if (auto* const held = std::get_deleter<Unmap>(owner_); held && bytes <= held->length) {
    bytes_ = {bytes_.data(), static_cast<std::size_t>(bytes)};
    return {};
  }
  if (auto larger = moved_to_larger(owner_, static_cast<std::size_t>(bytes))) {
    owner_ = std::move(larger);
    bytes_ = {static_cast<std::byte*>(owner_.get()), static_cast<std::size_t>(bytes)};
    return {};
  }
  auto larger = make(bytes);
  if (!larger) return larger.error();
  if (size() != 0) std::memcpy(larger->bytes().data(), bytes_.data(), size());
  *this = std::move(*larger);
  return {};
}

void Memory::relocate(void* (*move)(void* own, void* block), void* own) {
  auto* const held = std::get_deleter<OnLoan>(owner_);
  if (held == nullptr) return;
  const std::ptrdiff_t offset = bytes_.data() - static_cast<std::byte*>(held->lent);
  void* const lent = move(own, held->lent);
  if (lent == nullptr) return;
  // The new block may begin elsewhere within a cache line.
  std::byte* const start = aligned_in(lent);
  std::memmove(start, static_cast<std::byte*>(lent) + offset, size());
  held->lent = nullptr;
  owner_ = {start, OnLoan{lent, held->give_back}};
  bytes_ = {start, size()};
}

void Memory::lend_from(const Lender& named) { lender() = named; }

Memory Memory::adopt(std::shared_ptr<void> owner, std::span<std::byte> bytes) {
  assert(reinterpret_cast<std::uintptr_t>(bytes.data()) % memory_alignment == 0 &&
         "lent bytes start on a cache line");
  Memory memory;
  memory.owner_ = std::move(owner);
  memory.bytes_ = bytes;
  return memory;
}

Result<Memory> Memory::copy_of(std::span<const std::byte> bytes) {
  auto memory = make(bytes.size());
  if (memory && !bytes.empty()) std::memcpy(memory->bytes().data(), bytes.data(), bytes.size());
  return memory;
}

Memory Memory::part(std::size_t offset, std::size_t length) const {
  assert(offset <= size() && length <= size() - offset && "a part lies inside the whole");
  return adopt(owner_, bytes_.subspan(offset, length));
}

}  // namespace bloomery::inline v0::detail
