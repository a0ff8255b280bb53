// Numbers, times and commands as people read them; the same rules as the command line's (client/output/text.h).

export const shortId = (id) => id.slice(0, 8);

export const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;

// Seconds: "45 s", "12 min", "3 h 20 min", "2 d 4 h".
export function duration(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? `${days} d` : `${days} d ${hours % 24} h`;
}

export const rate = (perSecond) => perSecond >= 1000 ? Math.round(perSecond).toLocaleString("en") : perSecond.toPrecision(3);

// "2026-11-20 17:18:44Z"; "-" for what has no time.
export const time = (iso) => iso === undefined ? "-" : iso.replace("T", " ").replace(/(\.\d+)?Z$/, "Z");

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  for (; number >= 1000 && at + 1 < units.length; ++at) number /= 1000;
  return `${at === 0 ? number : number.toPrecision(3)} ${units[at]}`;
}

// A value of a table in its unit: percent as the papers print them; others with three decimals, or as many digits where that would hide it.
export function measured(value, unit) {
  if (typeof value !== "number") return String(value).replace("Infinity", "inf").toLowerCase();
  if (unit === "%") return value.toFixed(1);
  const size = Math.abs(value);
  return size !== 0 && (size < 0.01 || size >= 1e6) ? value.toPrecision(3) : value.toFixed(3);
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
