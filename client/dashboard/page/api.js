// Questions to the dashboard: each is one command's JSON.

// What a command refused, in its words.
export class Refusal extends Error {
  constructor(status, {message, hint}) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

// The dashboard itself does not answer.
export class Gone extends Error {}

const PATIENCE_MS = 120000;

// The key that the address was printed with. Storage is of this port alone, and nobody but this page reads it.
const KEY = "key";
const key = () => localStorage.getItem(KEY) ?? "";

export function takeKey() {
  const found = /^#key=(\w+)$/.exec(location.hash);
  if (found === null) return;
  localStorage.setItem(KEY, found[1]);
  history.replaceState(null, "", "#/");
}

function query(parameters) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of [value].flat()) if (one !== "" && one !== undefined && one !== null) words.append(name, one);
  }
  const text = words.toString();
  return text === "" ? "" : `?${text}`;
}

// What lies at a path, as text. Errors: Refusal, Gone.
export async function get(path) {
  let response;
  try {
    response = await fetch(path, {headers: {Authorization: `Bearer ${key()}`}, signal: AbortSignal.timeout(PATIENCE_MS)});
  } catch {
    throw new Gone("the dashboard does not answer; if it has ended, 'longreach dashboard' starts it again, with another address");
  }
  const text = await response.text();
  if (response.ok) return text;
  let error = {message: text.trim(), hint: ""};
  try {
    error = JSON.parse(text).error;
  } catch {
    // Not of a command: its text is the message.
  }
  throw new Refusal(response.status, error);
}

// The answer to a question as text: equal texts need not be drawn again.
export const ask = (name, parameters = {}) => get(`/api/${name}${query(parameters)}`);
