#include <bench/measure_kinds.hpp>

namespace bloomery::bench {

template Findings findings_on(const KeyStore<Integer>&, const Task&);
template void measure_kinds(const KeyStore<Integer>&, const Task&, Findings&);
template std::string refusal_of_memory(const KeyStore<Integer>&, const Task&, std::uint64_t);

}  // namespace bloomery::bench
