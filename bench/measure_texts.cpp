#include <bench/measure_kinds.hpp>

namespace bloomery::bench {

template Findings findings_on(const KeyStore<Text>&, const Task&);
template void measure_kinds(const KeyStore<Text>&, const Task&, Findings&);
template std::string refusal_of_memory(const KeyStore<Text>&, const Task&, std::uint64_t);

}  // namespace bloomery::bench
