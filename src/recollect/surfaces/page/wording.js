/** How numbers, times and places are written. */

const COUNT = new Intl.NumberFormat("en");
const DAY = new Intl.DateTimeFormat("en", { weekday: "short", day: "numeric", month: "long" });
const FULL_DAY = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const MONTH = new Intl.DateTimeFormat("en", { month: "long", year: "numeric" });
const TIME = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false });

export const count = (number) => COUNT.format(number);
export const counted = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const share = (number) => number.toFixed(2).replace(/^(-?)0\./, "$1.");
export const milliseconds = (number) => `${number < 10 ? number.toFixed(1) : Math.round(number)} ms`;
export const day = (time) => DAY.format(local(time));
export const fullDay = (time) => FULL_DAY.format(local(time));
export const month = (time) => MONTH.format(local(time));
export const clock = (time) => (isDay(time) ? "" : TIME.format(new Date(time)));

/** A day was given without a time: it is that day wherever it is read. */
const isDay = (time) => /T00:00:00(\.0+)?(Z|\+00:00)$/.test(time);

function local(time) {
  const [year, month, date] = time.split(/\D/).map(Number);
  return isDay(time) ? new Date(year, month - 1, date) : new Date(time);
}

export function bytes(number) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let place = 0;
  for (; number >= 1000 && place < units.length - 1; place++) number /= 1000;
  return `${place && number < 100 ? number.toFixed(1) : Math.round(number)} ${units[place]}`;
}

/** Lines as a place has them: `10`, `10-40`; nothing where they are not known. */
export function lines(first, last) {
  if (!first) return "";
  return !last || last === first ? `${first}` : `${first}-${last}`;
}

export function place(path, first, last) {
  const known = lines(first, last);
  return known ? `${path}:${known}` : path;
}

/** What something without a title is called: of a path its last part. */
export const lastPart = (path) => path.split("/").at(-1) || path;

/** The end of a long text is cut, with a sign of it. */
export const shortened = (text, length) => (text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text);

/** A filter as words: `status approved`, `created_at from 2024-01-01`. */
export function filterWords(filter) {
  return Object.entries(filter).map(([field, value]) => `${FIELDS[field] ?? field.replaceAll("_", " ")} ${condition(value)}`).join(", ");
}

const FIELDS = { created_at: "made", updated_at: "changed", source_ref: "path" };
const OPERATORS = { eq: "", ne: "not", in: "", nin: "none of", gt: "after", gte: "from", lt: "before", lte: "to", prefix: "begins with", glob: "like" };

function condition(value) {
  if (Array.isArray(value)) return value.map((each) => (typeof each === "object" && each ? filterWords(each) : each)).join(" or ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value).map(([operator, given]) => `${OPERATORS[operator] ?? operator} ${moment(given)}`.trim()).join(" ");
}

/** A time of midnight is its day. */
function moment(given) {
  const text = Array.isArray(given) ? given.join(" or ") : String(given);
  return text.replace(/T00:00:00(\.0+)?(Z|\+00:00)?$/, "");
}
