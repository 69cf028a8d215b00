// What `bloomery plan` says: one row a kind, the kind to take and why.
#pragma once

#include <bloomery/error.hpp>
#include <bloomery/want.hpp>

#include <tools/cli/report/report.hpp>

#include "plan_table.hpp"
#include "plan_text.hpp"

namespace bloomery::cli {

// The table behind the report. An Error where no kind can do it, or too little was given.
Result<PlanTable> plan_all(const Want& want);
Result<Report> plan_report(const Want& want);

}  // namespace bloomery::cli
