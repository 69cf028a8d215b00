// What a benchmark found, as reports: one for programs, tables for people.
#pragma once

#include <string>

#include <bench/findings.hpp>
#include <bench/machine.hpp>

#include "report.hpp"

namespace bloomery::cli {

// cpu, cores, l2_bytes, l3_bytes, memory_bytes, huge_pages, kernels.
Report machine_report(const bench::Machine& machine);

// What bulk operations choose on this machine: loops, l2_used_bytes, shared_used_bytes,
// keys_on_their_way, partition_maps_from_bytes, partition_slice_bytes, partition_scratch_bytes.
void describe_choices(Report& report);

// keys, key_form, rate_asked, threads, strangers, kinds (each with its timings), left_out.
void describe(Report& report, const bench::Findings& findings);

// Two tables and their captions: nanoseconds a key, and the same as a multiple of the roofline.
std::string bench_tables(const bench::Findings& findings);

}  // namespace bloomery::cli
