// How each kind goes from a key to its bits, in a few sentences; docs/kinds.md has the laws.

export const laws = {
  bitmap: { hash: "The key is an integer and is not hashed.", line: "Every integer of the range has a bit of its own.", cells: "Set it, clear it, ask it. Nothing is shared, so nothing is ever wrong." },
  "two-bit": { hash: "The key is an integer and is not hashed.", line: "Every integer of the range has two bits of its own.", cells: "They say never, once, or more often." },
  classic: { hash: "64 well-mixed bits: near keys land far apart.", line: "There are no lines: each probe may land anywhere.", cells: "The hash, multiplied by a different odd number for each probe, picks a bit. All of them must be set." },
  blocked: { hash: "64 well-mixed bits: near keys land far apart.", line: "The high bits pick one line of 512 bits: one wait for memory.", cells: "Other bits pick one bit in each lane of the line. All of them must be set." },
  "split-block": { hash: "64 well-mixed bits: near keys land far apart.", line: "The high bits pick one block of 256 bits.", cells: "One bit in each of its eight words, by eight fixed factors: the law of Parquet files." },
  counting: { hash: "64 well-mixed bits: near keys land far apart.", line: "There are no lines: each probe may land anywhere.", cells: "Each place has a counter of four bits. Adding raises the counters of a key, removing lowers them." },
  spectral: { hash: "64 well-mixed bits: near keys land far apart.", line: "There are no lines: each probe may land anywhere.", cells: "Each place has a counter; the smallest of a key's counters says how often it came, never too low." },
  cuckoo: { hash: "64 well-mixed bits: near keys land far apart.", line: "It picks two buckets of four places.", cells: "A short fingerprint of the key lies in one of them. When both are full, others move to their second bucket." },
  window: { hash: "64 well-mixed bits: near keys land far apart.", line: "It picks a pair of lines that lie side by side, one of each generation.", cells: "Adding writes to the current generation. When that is full, the older one is cleared and takes its place." },
  sharded: { hash: "64 well-mixed bits: near keys land far apart.", line: "The high bits pick a shard, then a line in it.", cells: "As blocked; every shard has one owner, so threads never meet." },
  fuse: { hash: "64 well-mixed bits: near keys land far apart.", line: "It picks three neighbouring segments.", cells: "One field in each; XORed they give the fingerprint of the key. That must be arranged for all keys at once." },
  ribbon: { hash: "64 well-mixed bits: near keys land far apart.", line: "It picks 64 rows side by side.", cells: "The parity of some of them is the fingerprint: a system of equations, solved for all keys at once." },
};

export const usual = { hash: "64 well-mixed bits: near keys land far apart.", line: "The hash says where to look.", cells: "What lies there gives the answer." };

export const examples = ["apple", "pear", "plum", "cherry", "fig", "quince", "medlar", "damson", "peach", "apricot", "grape", "currant"];
