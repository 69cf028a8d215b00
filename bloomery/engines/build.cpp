#include <bloomery/detail/engines/build.hpp>

#include <bloomery/detail/engines/parallel.hpp>

namespace bloomery::inline v0::detail {

Crew crew_of(Threads threads) {
  return {wanted_threads(threads), [](unsigned workers, const Crew::Work& work) {
            if (!on_threads(workers, work)) work(0);
          }};
}

}  // namespace bloomery::inline v0::detail
