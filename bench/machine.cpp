#include <bench/machine.hpp>

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include <bloomery/detail/bits/caches.hpp>
#include <bloomery/detail/bits/kernels.hpp>
#include <tools/inside.hpp>

namespace bloomery::bench {
namespace {

// The value of the first "name : value" line, or nothing.
std::string value_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t value = line.find_first_not_of(": \t", name.size());
    if (value != std::string::npos) return line.substr(value);
  }
  return "";
}

std::uint64_t kibibytes_in(const char* path, const std::string& name) {
  std::uint64_t value = 0;
  std::istringstream(value_in(path, name)) >> value;
  return value * 1024;
}

std::uint64_t told(int name) {
  const long value = ::sysconf(name);
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

// "always [madvise] never": the one in brackets.
std::string huge_page_setting() {
  std::string line;
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::getline(file, line);
  const std::size_t open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return "unknown";
  return line.substr(open + 1, close - open - 1);
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cpu = value_in("/proc/cpuinfo", "model name");
  if (machine.cpu.empty()) machine.cpu = "unknown";
  machine.cores = std::thread::hardware_concurrency();
  machine.memory_bytes = told(_SC_PHYS_PAGES) * told(_SC_PAGESIZE);
  machine.free_bytes = kibibytes_in("/proc/meminfo", "MemAvailable");
  if (machine.free_bytes == 0) machine.free_bytes = machine.memory_bytes;
  const Caches found = caches_told_in("/sys/devices/system/cpu/cpu0/cache");
  machine.l2_bytes = found.second;
  machine.l3_bytes = found.shared;
  machine.huge_pages = huge_page_setting();
  machine.kernels = kernels().name;
  return machine;
}

}  // namespace bloomery::bench
