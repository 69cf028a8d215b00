// Loads what http_text.cpp has become.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include <tools/cli/report/refuse.hpp>

#include "http_text.hpp"

namespace bloomery::cli {
namespace {

using Make = HttpText* (*)(Replying*);

// Never unloaded: what it made may live as long as the program.
Make found_maker() {
  std::error_code unseen;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unseen);
  std::string why;
  for (const char* const place : {"bloomery_http.so", BLOOMERY_HTTP_MODULE}) {
    const std::string path = (program.parent_path() / place).string();
    if (!std::filesystem::exists(path, unseen)) continue;
    void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const make = module == nullptr ? nullptr : ::dlsym(module, "bloomery_http_text");
    if (make != nullptr) return reinterpret_cast<Make>(make);
    why = ::dlerror();
  }
  refuse(
      fmt::format("this program cannot serve: {}; install bloomery again",
                  why.empty() ? "its part bloomery_http.so is not where it was installed" : why));
}

}  // namespace

std::unique_ptr<HttpText> load_http_text(Replying replying) {
  return std::unique_ptr<HttpText>(found_maker()(&replying));
}

}  // namespace bloomery::cli
