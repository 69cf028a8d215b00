// A run of dedup that shows itself while it works: `dedup --serve`.
//
//    ServedRun served(flags, messages);      listens, and says where
//    served.tell(so_far, set);               about ten times a second
//    served.end(report);                     watchers get the last state, and the end
//
// Threads: tell() by one at a time; two more answer and look, and get no signals.
#pragma once

#include <memory>

#include <bloomery/any_set.hpp>
#include <bloomery/engines/dedup/dedup.hpp>

#include <tools/cli/flags/dedup_flags.hpp>
#include <tools/cli/report/messages.hpp>

#include "run_counts.hpp"
#include "server.hpp"

namespace bloomery::cli {

class ServedRun {
 public:
  ServedRun(const DedupFlags& flags, Messages& messages);

  // `before`: of files that were done before. The rate now is the set's, by its formula.
  void tell(const DedupReport& before, DedupReport now, const AnySet& set);
  void end(const DedupReport& report);

 private:
  const bool tallies_;  // the set remembers nothing then
  std::shared_ptr<RunCounts> counts_;
  Server server_;
};

}  // namespace bloomery::cli
