// Numbers, times and commands as people read them; the same rules as the command line's (client/output/text.h).

// The first digits of an id; a name stays as it is.
export const shortId = (id) => /^[0-9a-f]{64}$|^[0-9a-f-]{36}$/.test(id) ? id.slice(0, 8) : id;

export const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

// As C's "%.Nf": of two that are as near the one whose last digit is even, where toFixed() takes the larger.
export function fixed(value, digits) {
  const scaled = Math.abs(value) * 10 ** digits;
  const tie = scaled % 1 === 0.5 && Number.isInteger(value * 2 ** (digits + 1)) && Math.floor(scaled) % 2 === 0;
  return tie ? (Math.sign(value) * Math.floor(scaled) / 10 ** digits).toFixed(digits) : value.toFixed(digits);
}

// As C's "%.Ng".
export function general(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  const short = (text) => text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  if (power >= -4 && power < digits) return short(fixed(value, digits - 1 - power));
  const whole = power > 0 ? fixed(value / 10 ** (power - digits + 1), 0) / 10 ** (digits - 1) : Number(mantissa);
  return `${short(whole.toFixed(digits - 1))}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

// With as many digits as tell it from its neighbours: "0.0003", "3e-05".
export function shortest(value) {
  const [mantissa, exponent] = value.toExponential().split("e");
  const power = Number(exponent);
  return power >= -4 && power < 16 ? String(value) : `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

// Seconds: "45 s", "12 min", "3 h 20 min", "2 d 4 h".
export function duration(seconds) {
  if (seconds < 99.5) return `${fixed(seconds, 0)} s`;
  const minutes = Math.floor(seconds / 60 + 0.5);
  if (minutes < 120) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / (24 * 60)).toLocaleString("en")} d ${Math.floor(minutes / 60) % 24} h`;
}

export const durationOrLess = (seconds) => seconds < 1 ? "less than a second" : duration(seconds);

// "about 3 h 0 min left (2 h 24 min to 4 h 6 min)"; empty: nobody knows. Without the range where it is not known (then it is null, or an older scheduler
// tells none), or so narrow that it says nothing.
export function timeLeft({seconds_left, seconds_left_low, seconds_left_high}) {
  if (!(seconds_left > 0)) return "";
  const [from, to] = [duration(seconds_left_low ?? 0), duration(seconds_left_high ?? 0)];
  const narrow = !(seconds_left_high > 1.05 * seconds_left_low) || from === to;
  return `about ${duration(seconds_left)} left${narrow ? "" : ` (${from} to ${to})`}`;
}

export function rate(perSecond) {
  if (perSecond < 9.995) return fixed(perSecond, 2);
  return perSecond < 99.95 ? fixed(perSecond, 1) : Math.round(perSecond).toLocaleString("en");
}

// "2026-11-20 17:18:44Z"; "-" for what has no time.
export const time = (iso) => iso === undefined ? "-" : iso.replace("T", " ").replace(/(\.\d+)?Z$/, "Z");

export const bytes = (number) => number.toLocaleString("en");

// Without the minus of what was rounded to zero.
export const withoutMinusOfZero = (text) => /^-[0.]+$/.test(text) ? text.slice(1) : text;

// A difference, with its sign; one that was rounded to zero has none.
export const withSign = (text) => {
  const shown = withoutMinusOfZero(text);
  return shown.startsWith("-") || shown.toLowerCase() === "nan" || /^[0.]+$/.test(shown) ? shown : `+${shown}`;
};

// A value of a table in its unit: percent as the papers print them; others with three decimals, or as many digits where that would hide it.
export function measured(value, unit) {
  if (typeof value !== "number") return String(value).replace("Infinity", "inf").toLowerCase();
  if (unit === "%") return withoutMinusOfZero(fixed(value, 1));
  const size = Math.abs(value);
  return size !== 0 && (size < 0.01 || size >= 1e6) ? general(value, 3) : fixed(value, 3);
}

// A word for a POSIX shell.
export const shellWord = (word) => /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

// "longreach results last --rows task --store b1.db": what prints in a shell what a question shows.
export function commandLine(words, options, flags) {
  const parts = ["longreach", ...words.map(shellWord)];
  for (const [name, value] of Object.entries(options)) {
    for (const one of [value].flat()) {
      if (one === true) parts.push(`--${name}`);
      else if (one !== "" && one !== undefined && one !== null && one !== false) parts.push(`--${name}`, shellWord(String(one)));
    }
  }
  return parts.join(" ") + flags;
}
