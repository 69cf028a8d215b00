// Files of lines that dedup goes on with or replaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <bloomery/engines/dedup/dedup.hpp>
#include <bloomery/image.hpp>
#include <bloomery/storage/file_watch.hpp>
#include <bloomery/text/line_writer.hpp>
#include <tools/inside.hpp>

#include <tools/cli/report/messages.hpp>

namespace bloomery::cli {

// Up to and with the last delimiter. Of a file that is missing: 0.
std::uint64_t bytes_of_whole_lines(const std::string& path, std::string_view delimiter);

// Of a file that is missing: 0.
std::uint64_t size_of(const std::string& path);

// The first record of a file, by these rules for one.
std::string header_of(const std::string& path, LineRules rules);

// Outputs of a state that have lines which it does not know.
void warn_of_unended(const std::vector<WrittenOutput>& outputs, const std::string& state,
                     Messages& messages);

// Gives the lines the name of the file they were read from. Whoever appends to it meanwhile has
// lines in it that were never seen here: then it is left as it is.
void put_in_place(LineWriter& out, const FileWatch& watch);

// Of several files, one after the other.
void add_up(DedupReport& sum, const DedupReport& more);

}  // namespace bloomery::cli
