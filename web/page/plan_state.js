// The plan's part of the address, and what of it the engine is asked.

export const fields = ["keys", "rate", "memory", "range", "allow"];
const start = { find: "memory", keys: "10M", rate: "1%", memory: "16M", range: "", allow: "", kind: "", needs: "", chart: "rate" };

export function fromAddress(values) {
  const state = { ...start };
  for (const name of Object.keys(start)) if (values.has(name)) state[name] = values.get(name);
  if (!["memory", "rate", "keys", "fit"].includes(state.find)) state.find = start.find;
  if (!["rate", "keys", "over"].includes(state.chart)) state.chart = start.chart;
  return state;
}

/** What differs from the start, without the field that follows from the others. */
export function toAddress(state) {
  const written = {};
  for (const [name, value] of Object.entries(state)) {
    if (name === state.find) continue;
    if (value !== start[name] || (["keys", "rate", "memory"].includes(name) && given(state, name))) written[name] = value;
  }
  const onlyStart = Object.entries(written).every(([name, value]) => value === start[name]);
  return onlyStart ? {} : written;
}

export function given(state, field) {
  if (field === "memory") return state.find !== "memory";
  return state.find !== field;
}

export function wantOf(state) {
  const want = {};
  for (const field of fields) {
    const asked = ["range", "allow"].includes(field) || given(state, field);
    const text = state[field].trim();
    if (asked && text !== "") want[field] = text;
  }
  return want;
}

/** The field that a sentence of the engine is about. */
export function fieldOf(sentence, state) {
  for (const field of fields) if (sentence.startsWith(`--${field} `)) return field;
  if (/^a rate of /.test(sentence)) return given(state, "rate") ? "rate" : null;
  if (/^\d+ keys are /.test(sentence)) return given(state, "keys") ? "keys" : null;
  return null;
}

export const sliders = {
  keys: { low: 1e3, high: 1e12 },
  rate: { low: 1e-9, high: 0.5 },
  memory: { low: 2 ** 10, high: 2 ** 42 },
};

export function fromSlider(field, share) {
  const { low, high } = sliders[field];
  return low * (high / low) ** share;
}

export function toSlider(field, value) {
  const { low, high } = sliders[field];
  return Math.min(1, Math.max(0, Math.log(value / low) / Math.log(high / low)));
}
