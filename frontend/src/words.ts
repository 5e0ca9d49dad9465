/** Numbers for people. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (value: number): string => whole.format(value);

/** Four digits of any number. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e7)) return value.toExponential(2);
  return Math.abs(value) >= 1000 ? whole.format(value) : String(Number(value.toPrecision(4)));
}

const MOST_DIGITS = 10;

/** Numbers along an axis: as short as they can be while no two read the same. */
export function ticks(values: (number | null)[], digits = 4): string[] {
  const words = values.map((value) => (value === null ? "" : tick(value, digits)));
  const different = new Set(words.filter(Boolean)).size === words.filter(Boolean).length;
  return different || digits === MOST_DIGITS ? words : ticks(values, digits + 1);
}

function tick(value: number, digits: number): string {
  const size = Math.abs(value);
  if (value !== 0 && size < 1e-3) return value.toExponential(digits - 3);
  const [unit, name] = size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  return Number((value / unit).toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: MOST_DIGITS }) + name;
}

export function duration(seconds: number): string {
  const s = Math.round(seconds);
  const parts = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, index) => (index ? String(part).padStart(2, "0") : part)).join(":");
}

export const plain = (value: unknown): string =>
  value === null || value === undefined || value === "" ? "–" : Array.isArray(value) ? value.join(" ") : String(value);
