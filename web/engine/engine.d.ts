// The engine as the page sees it: the C++ of the command `bloomery`, compiled to WebAssembly.
//
//    page --postMessage--> worker of the engine --> wasm     plan, play: one worker
//                          worker of a file     --> wasm     inspect, ask: one worker an open file
//
// Every method returns a promise of a Reply: {ok: ...}, or {error: a sentence for people}. A bad
// number, a damaged file, two sets that cannot merge: all of that is a reply; a promise is rejected
// only when the engine itself fails (no memory for it, a bug). Where a reply has `json`, it is the
// line that the command prints, byte for byte; `ok` is the same line parsed, so that integers above
// 2^53 are exact in `json` only.
//
// Numbers that do not exist (the rate of nothing, the estimate of a full set) are null.
// Words: docs and CONTRIBUTING.md; kind, rate, line, slot, law mean here what they mean there.

export interface Failed {
  error: string;
}
export type Reply<T> = { ok: T; json?: string } | Failed;

// web/engine/engine.js. The page makes one for its whole life; it is ready when its first reply is.
export function startEngine(): Engine;

export interface Engine {
  // The version of bloomery and all kinds, in the order of the register.
  about(): Promise<Reply<About>>;

  // bloomery plan --json, with what the user typed. Empty and missing fields are not given.
  plan(want: WantText): Promise<Reply<PlanReport>>;
  // bloomery plan --nodes --json.
  planNodes(want: NodesText): Promise<Reply<NodesReport>>;
  // What to copy, for a kind that `plan` has shown for this want (its `chosen`, or another row).
  lines(want: WantText & { kind: string }): Promise<Reply<Lines>>;
  // What a planned set is when it holds more keys than it was planned for.
  growth(want: WantText & { kind: string; factors: number[] }): Promise<Reply<Growth>>;
  // Every kind over a range of rates or of keys; the numbers are those of `plan` at each point.
  curves(want: CurveText): Promise<Reply<Curves>>;

  // A set file that a person chose or dropped. Nothing is read before a method is called; nothing
  // leaves the browser. Close it when it is no longer shown: it holds a worker and its memory.
  open(file: File): OpenFile;
  // Can these two be merged with `bloomery merge`, and if not, why not. Only their heads are read.
  compare(one: File, other: File): Promise<Reply<Comparison>>;

  // A small filter to play with; replaces the one before it. See Play.
  play: Play;

  // Ends the workers. For tests, and pages that go away.
  close(): void;
}

export interface About {
  version: string;
  kinds: KindFacts[];
}
export interface KindFacts {
  kind: string; // "blocked"
  input: "text" | "integers"; // integers: exact maps, which need a range
  exact: boolean;
  grows: boolean; // needs no number of keys in advance
  removes: boolean;
  counts: boolean; // tells how often a key was added
  forgets: boolean; // its oldest keys
  built: boolean; // from all its keys at once, and never added to
  two_lists: boolean; // from keys that match and keys that never do (needs `allow`)
  merges: boolean; // two of the same shape can be united
  playable: boolean;
}

// ---- plan -----------------------------------------------------------------------------------------

// As typed: "10M", "0.1%", "1.5 GiB", "0..9999999". The command's flags have the same names.
export interface WantText {
  keys?: string;
  rate?: string;
  memory?: string;
  range?: string;
  allow?: string;
}

// As docs/cli.md describes plan --json.
export interface PlanReport {
  keys: number;
  rate: number;
  allowed?: number;
  memory?: number;
  kinds: PlanRow[];
  chosen: string;
  why: string;
  left_out?: { left_out: string; why: string }[];
}
export interface PlanRow {
  kind: string;
  bytes: number;
  bits_per_key: number | null;
  rate: number;
  keys?: number; // when --keys was not given
}

export interface NodesText {
  keys?: string;
  rate?: string;
  memory?: string; // of one node
  nodes?: string; // masters; missing or empty: as few as do
  replicas?: string;
  network?: string; // bits a second: "10G"
}
export interface NodesReport {
  keys: number;
  rate: number;
  masters: number;
  replicas: number;
  nodes: number;
  memory: number;
  memory_with_replicas: number;
  memory_a_node: number;
  bits_per_key: number;
  probes: number;
  shards: number;
  shards_a_node: number;
  shards_a_node_least: number;
  largest_key: number;
  commands: {
    per_key: string;
    commands: number;
    sent: number;
    received: number;
    server_us: number;
    most_a_second: number;
  }[];
  loading: { loading: string; seconds: number | null; limited_by: string }[];
  events: {
    when: string;
    share_of_keys: number;
    bytes: number;
    seconds: number | null; // null: for ever
    what: string;
  }[];
  basis: string;
  note?: string;
}

export interface Lines {
  plan: string; // the plan command itself, for a terminal
  command: string; // makes a set of this kind from a file of lines
  check: string; // asks it
  cpp: string; // several lines
  python: string;
}

export interface Growth {
  kind: string;
  keys: number; // planned
  // What happens beyond: "rate rises", "full" (refuses keys), "grows" (takes more memory),
  // "forgets" (its oldest keys), "rebuild" (takes no more keys), "exact" (pays for its range).
  beyond: "rate rises" | "full" | "grows" | "forgets" | "rebuild" | "exact";
  sentence: string; // the same for people
  points: GrowthPoint[]; // one for each factor
}
export interface GrowthPoint {
  factor: number;
  keys: number; // asked to be held
  held: number; // of those, really held: fewer where the kind is full or forgets
  bytes: number;
  rate: number | null; // null where it cannot be in that state
}

export interface CurveText extends WantText {
  over: "rate" | "keys";
  low: number; // of what it goes over; rates from 1e-12 to 0.5
  high: number;
  points: number; // at most 400, spread evenly on a logarithmic scale
}
// x[i] is the rate or the number of keys; bits[k][i] and bytes[k][i] belong to kinds[k], null where
// that kind cannot do it.
export interface Curves {
  over: "rate" | "keys";
  x: number[];
  kinds: string[];
  bytes: (number | null)[][];
  bits_per_key: (number | null)[][];
  rate: (number | null)[][];
}

// ---- files ----------------------------------------------------------------------------------------

export interface Watching {
  // Called now and then while a long job runs: bytes that were read of all that are to be read.
  progress?: (done: number, all: number) => void;
  // Cancels the job: the promise is rejected with an AbortError. The file stays usable.
  signal?: AbortSignal;
}

export interface OpenFile {
  readonly name: string;
  readonly bytes: number;
  // bloomery verify --json and bloomery info --json of this file. A file that is damaged, of another
  // program, or empty: the error is the sentence of `verify`.
  inspect(watching?: Watching): Promise<Reply<Inspection>>;
  // How its bits lie, for pictures.
  picture(want: PictureWant, watching?: Watching): Promise<Reply<Picture>>;
  // As `bloomery check`: one key a text, as a line of a file would be. Errors: no text of a set of
  // integers, a key outside the range, a hardened set whose key is elsewhere...
  ask(keys: string[], watching?: Watching): Promise<Reply<Answer[]>>;
  close(): void;
}

export interface Inspection {
  verify: VerifyReport;
  info: InfoReport;
  // The two lines as printed.
  json: { verify: string; info: string };
  // Larger than the browser lends the engine at once: every byte was verified in pieces, and what
  // needs all of it at once (asking, some of `info`) is told by the reply of `ask`.
  in_pieces: boolean;
}
export interface VerifyReport {
  ok: boolean;
  files: { file: string; ok: boolean; kind?: string; file_bytes?: number; error?: string }[];
}
// As docs/cli.md describes info --json; which fields there are depends on the kind.
export interface InfoReport {
  kind: string;
  keys: number;
  keys_estimated: number | null;
  capacity: number;
  bytes: number;
  bits_per_key: number | null;
  fill: number | null;
  rate_asked: number | null;
  rate_now: number | null;
  hash: string;
  hardened: boolean;
  room_left: number | null; // null: grows
  overfull: boolean;
  file_bytes: number;
  uuid: string;
  [more: string]: number | string | boolean | null;
}

export interface PictureWant {
  rows: number; // of the heat map, at most 512
  columns: number; // at most 512
}
export interface Picture {
  unit_bits: number; // what a line of this kind has: 512, 256, or 512 where it has no lines
  units: number; // how many there are
  // histogram[i]: units with i ones, 0 <= i <= unit_bits.
  histogram: number[];
  // What it would be if the keys were spread by chance, as many ones in all; same length.
  expected: number[];
  mean: number; // ones in a unit
  fullest: { unit: number; ones: number };
  emptiest: { unit: number; ones: number };
  // heat[row * columns + column]: mean share of ones, 0 to 1, of the units there, in the order of
  // the file. null behind the last one.
  rows: number;
  columns: number;
  heat: (number | null)[];
}

export interface Answer {
  key: string;
  there: boolean; // maybe there, unless exact
  surely: boolean; // the answer is certain: absent, or an exact kind
  count?: number; // kinds that count; never too low
}

export interface Comparison {
  mergeable: boolean;
  why: string; // "same kind, shape and hash ..." or the sentence of `bloomery merge`
  // What `merge` compares, in the order it does; `same` is false where they differ.
  points: { what: string; one: string; other: string; same: boolean }[];
}

// ---- play -----------------------------------------------------------------------------------------

// A filter of a few hundred bits that tells all it does. It also keeps the keys that were added, as
// no filter does, and so knows which answers are wrong.
export interface Play {
  make(want: PlayWant): Promise<Reply<PlayState>>;
  add(key: string): Promise<Reply<PlayStep>>;
  ask(key: string): Promise<Reply<PlayStep>>;
  remove(key: string): Promise<Reply<PlayStep>>; // kinds that cannot: the error says why
  // Adds keys "key 1", "key 2", ... that are not yet in it, and tells the rates on the way.
  fill(count: number): Promise<Reply<PlayFilled>>;
  // Finds a text that was never added and passes: a false positive. null: none among `tries`.
  findFalse(tries?: number): Promise<Reply<PlayStep | null>>;
  state(): Promise<Reply<PlayState>>;
}
export interface PlayWant {
  kind: string;
  keys: number; // planned; 1 to 10,000
  rate?: number;
  range?: [number, number]; // exact maps
}
export interface PlayState {
  kind: string;
  keys: number; // really in it, counted beside it
  capacity: number;
  bytes: number;
  // Its cells in order: bits of a Bloom filter (cell_bits 1), counters, fingerprints. values[i] is
  // what cell i holds.
  cell_bits: number;
  line_cells: number; // cells of a line (a block, a bucket); cells.length if it has no lines
  values: number[];
  ones: number; // cells that are not zero
  fill: number | null;
  rate_asked: number | null;
  rate_now: number | null; // from the bits
  overfull: boolean;
  shape: [string, string][]; // in words: ["blocks", "4"], ["probes", "6"]
  hash: string; // "xxh3-64", "none"
}
export interface PlayStep {
  key: string;
  verb: "add" | "ask" | "remove";
  hash: string; // 16 hexadecimal digits (32 of kinds that take wide hashes); of exact maps the integer
  line: number | null; // the line of its cells; null when they lie in several
  lines: number[]; // all lines that it touches
  // The cells that this key looks at, lowest first. before and after: their values.
  cells: { cell: number; before: number; after: number; owners: string[] }[]; // owners: added keys that use it
  there_before: boolean; // the answer of the filter before the step
  there: boolean; // and after it
  added: boolean; // true: somebody has added it (and not removed it)
  // of `ask` and `add`: the filter says maybe, and nobody has added it
  false_positive: boolean;
  // the filter says no, and somebody has added it: after removing what was never added
  false_negative: boolean;
  explained_by: string[]; // a false positive: keys that together own all its cells
  sentence: string; // what happened, for people
  lost: string[]; // of `remove`: added keys that the filter denies now
  state: PlayState;
}
export interface PlayFilled {
  state: PlayState;
  // After each of at most 60 steps: keys held, the rate by the formula, and measured on 2,000 texts
  // that were never added. refused: the filter took no more from there on.
  points: { keys: number; rate_now: number | null; measured: number; fill: number | null }[];
  refused: string | null;
}
