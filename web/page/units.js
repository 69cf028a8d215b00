// Numbers as a person reads them. What the engine counts comes as a number or, above 2^53, a BigInt.

const decimal = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** 1234567 as "1,234,567". */
export function count(value) {
  if (value === Infinity) return "no limit";
  return decimal.format(typeof value === "bigint" ? value : Math.round(value));
}

/** Three digits that matter: 0.0123, 1.23, 12.3, 123. */
export function real(value, digits = 3) {
  if (value === Infinity) return "infinite";
  if (!Number.isFinite(value)) return "unknown";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4) return tiny(value);
  if (size >= digits) return count(value);
  return String(Number(value.toFixed(Math.max(0, digits - 1 - size))));
}

const words = [
  [1e15, "quadrillion"],
  [1e12, "trillion"],
  [1e9, "billion"],
  [1e6, "million"],
];

/** 12000000 as "12 million", 4321 as "4,321". */
export function about(value) {
  const number = Number(value);
  if (!Number.isFinite(number)) return real(number);
  for (const [unit, word] of words)
    if (number >= unit * 0.9995) return `${real(number / unit)} ${word}`;
  return number < 100 ? real(number) : count(number);
}

const sizes = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** 1500000 as "1.43 MiB". */
export function bytes(value) {
  let number = Number(value);
  if (!Number.isFinite(number)) return real(number);
  let step = 0;
  for (; number >= 1024 && step < sizes.length - 1; ++step) number /= 1024;
  if (step === 0) return number === 1 ? "1 byte" : `${count(number)} bytes`;
  return `${number >= 100 ? number.toFixed(0) : number.toFixed(2)} ${sizes[step]}`;
}

const raised = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** 5.4e-14 as "5.4 × 10⁻¹⁴". */
export function tiny(value) {
  const [mantissa, exponent] = value.toExponential(1).split("e");
  const power = [...String(Number(exponent))].map((c) => raised[c]).join("");
  return mantissa === "1.0" ? `10${power}` : `${Number(mantissa)} × 10${power}`;
}

/** 0.00999 as "0.999 %". */
export function rate(value) {
  if (!Number.isFinite(value)) return real(value);
  if (value === 0) return "none";
  if (value < 1e-6) return tiny(value);
  const percent = value * 100;
  return `${Number(percent.toPrecision(3))} %`;
}

/** A rate as odds: 0.01 as "1 in 100". */
export function odds(value) {
  if (value === 0) return "never";
  if (value > 0.5) return `${Number((value * 100).toPrecision(3))} in 100`;
  return `1 in ${about(1 / value)}`;
}

export function seconds(value) {
  if (!Number.isFinite(value)) return real(value);
  if (value < 1e-3) return `${real(value * 1e6)} µs`;
  if (value < 1) return `${real(value * 1e3)} ms`;
  if (value < 120) return `${real(value)} s`;
  const whole = Math.round(value);
  if (whole < 7200) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  if (whole < 172800) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${real(whole / 86400)} days`;
}

/** Nice round text for a slider, as the engine reads it: 12000000 as "12M". */
export function keysText(value) {
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (value >= unit) return `${Number((value / unit).toPrecision(2))}${letter}`;
  return String(Math.max(1, Number(value.toPrecision(2))));
}

export function rateText(value) {
  if (value < 1e-5) return value.toExponential(0);
  return `${Number((value * 100).toPrecision(1 + (value >= 0.1)))}%`;
}

export function memoryText(value) {
  for (const [unit, letter] of [[2 ** 40, "T"], [2 ** 30, "G"], [2 ** 20, "M"], [2 ** 10, "K"]])
    if (value >= unit) {
      const parts = value / unit;
      return `${parts >= 100 ? Math.round(parts) : Number(parts.toPrecision(2))}${letter}`;
    }
  return String(Math.max(1, Math.round(value)));
}
