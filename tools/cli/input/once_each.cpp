#include "once_each.hpp"

#include <fmt/format.h>

#include <tools/cli/report/refuse.hpp>

namespace bloomery::cli {

void expect_copies(const KindRow& row) {
  if (row.keeps_copies) return;
  refuse(fmt::format("--multiset is for the kind cuckoo, which keeps copies of a line; a {} set {}",
                     row.id.name, row.counts ? "counts repeats without it" : "holds a line once"));
}

}  // namespace bloomery::cli
