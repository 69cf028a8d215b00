// What a person needs to know of each kind beside its numbers; docs/kinds.md has the long form.

export const groups = {
  add: "add and ask",
  change: "remove, count or forget",
  fixed: "made once of all keys",
  grow: "grows with its keys",
  exact: "exact, integers",
};

const lines = (rate) => (rate > 0 && rate < 1e-4 ? "2" : "1");

export const kinds = {
  bitmap: { group: "exact", misses: () => "1", what: "one bit for every integer of the range; never wrong" },
  "two-bit": { group: "exact", misses: () => "1", what: "two bits for every integer of the range: never, once, more often" },
  classic: { group: "add", misses: () => "each probe", what: "the textbook filter: fewest bits, but each probe waits for memory" },
  blocked: { group: "add", misses: lines, what: "all bits of a key lie in one cache line: fast, and nearly as small" },
  "split-block": { group: "add", misses: () => "1", what: "the bit law of Apache Parquet" },
  counting: { group: "change", misses: () => "each probe", what: "a small counter in the place of each bit, so that keys can be removed" },
  spectral: { group: "change", misses: () => "each probe", what: "counters that tell how often a key came" },
  cuckoo: { group: "change", misses: () => "2", what: "short fingerprints in buckets of four; keys can be removed" },
  window: { group: "change", misses: () => "2 in a row", what: "remembers the last keys of an endless stream and forgets the oldest" },
  fuse: { group: "fixed", misses: () => "3", what: "made once of all keys; small and fast to ask" },
  ribbon: { group: "fixed", misses: () => "1 to 3 in a row", what: "made once of all keys; the smallest there is" },
  "hash-set": { group: "grow", misses: () => "1", what: "exact: keeps 128 bits of the hash of each key" },
  scalable: { group: "grow", misses: () => "1 to 2", what: "grows without end and keeps its rate" },
  compact: { group: "grow", misses: () => "1", what: "keeps the 64-bit hash of each key; practically no errors, and grows" },
  chain: { group: "grow", misses: () => "1 a link", what: "a chain of blocked filters, each twice as large as the one before" },
  sharded: { group: "add", misses: lines, what: "blocked, in many small pieces with one owner each" },
  cascade: { group: "fixed", misses: () => "1 to 2", what: "a block list and an allow list, no error on either" },
};

export function groupOf(kind) {
  return kinds[kind]?.group ?? "add";
}

/** What a person may want a set to do: a name, and the test on what the engine says of a kind. */
export const needs = {
  later: { label: "take new keys later", can: (facts) => !facts.built, not: "takes all its keys at once" },
  remove: { label: "let keys be removed", can: (facts) => facts.removes, not: "cannot remove keys" },
  count: { label: "count how often a key came", can: (facts) => facts.counts, not: "does not count" },
  grow: { label: "grow: nobody knows how many keys", can: (facts) => facts.grows, not: "is planned for a number of keys" },
  merge: { label: "be merged with others", can: (facts) => facts.merges, not: "cannot be merged" },
  forget: { label: "forget old keys by itself", can: (facts) => facts.forgets, not: "forgets nothing" },
  exact: { label: "never be wrong", can: (facts) => facts.exact, not: "has false positives" },
};
