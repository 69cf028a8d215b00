// The loop of every command that reads lines: a batch at a time, with a bar, to the end.
//
//    each_batch(source, messages, [&](Lines batch, const Inputs& inputs) {
//      keys.hand(batch, inputs, ...);                   SetLines makes keys of them
//      return true;                                     false: enough
//    });
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <bloomery/error.hpp>
#include <bloomery/text/line_writer.hpp>
#include <bloomery/text/lines.hpp>
#include <tools/inside.hpp>

#include <tools/cli/report/messages.hpp>
#include <tools/cli/report/progress.hpp>

namespace bloomery::cli {

// What is read, and under which name the bar shows it.
struct LineSource {
  const std::vector<std::string>& files;  // none: the standard input
  LineRules rules;
  When progress;
  std::string phase = {};
  // Called at the end for each file that had a header and no line: a column that is not there is
  // told all the same.
  std::function<void(const Inputs::HeaderAlone&)> header_alone = {};
};

struct LinesRead {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const LinesRead&, const LinesRead&) = default;
};

// Calls take(batch, inputs) for every batch until it returns false.
template <class Take>
LinesRead each_batch(const LineSource& source, Messages& messages, Take&& take) {
  Inputs inputs(source.files, source.rules);
  Progress progress(messages, source.progress, {source.phase, total_bytes(source.files)});
  for (;;) {
    const auto batch = inputs.next();
    if (!batch) throw Failure(batch.error());
    if (batch->empty() && source.header_alone)
      for (const auto& alone : inputs.headers_alone()) source.header_alone(alone);
    if (batch->empty() || !take(*batch, inputs)) return {inputs.lines_read(), inputs.bytes_read()};
    progress.update(inputs.file_bytes_read(), inputs.lines_read());
  }
}

// The same where `take` answers on `out`: a slow pipe does not wait for a full buffer, and reading
// ends when nobody reads the answers any more; ask out.reader_gone().
template <class Take>
LinesRead answer_batches(const LineSource& source, LineWriter& out, Messages& messages,
                         Take&& take) {
  const LinesRead read = each_batch(source, messages, [&](Lines batch, const Inputs& inputs) {
    if (!take(batch, inputs)) return false;
    if (!inputs.ready() && !out.flush()) return false;
    return out.good();
  });
  const auto flushed = out.flush();
  if (!flushed && !out.reader_gone()) throw Failure(flushed.error());
  return read;
}

}  // namespace bloomery::cli
