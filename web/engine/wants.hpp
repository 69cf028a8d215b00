// The fields of a request that say what to plan.
#pragma once

#include <tools/cli/plans/plan_table.hpp>
#include <tools/cli/plans/plan_text.hpp>

#include "wire.hpp"

namespace bloomery::web {

cli::PlanText plan_text_of(const Request& request);
// The row of one kind; the Error of `plan` where that refuses the want.
Result<cli::Planned> planned_kind(const Request& request);

}  // namespace bloomery::web
