// What people choose on a page.
import {ask} from "./api.js";
import {element} from "./dom.js";

// What the controls say, kept in the address so that it can be kept, sent and gone back to.
export class Choices {
  // `page` is their place in the address, "#/sweep/ID"; `changed()` is called after each.
  constructor(page, parameters, changed) {
    this.page = page;
    this.values = Object.fromEntries(parameters);
    this.changed = changed;
  }
  get(name) { return this.values[name] ?? ""; }
  set(name, value) {
    if (value === "" || value === false) delete this.values[name];
    else this.values[name] = String(value);
    const search = new URLSearchParams(this.values).toString();
    history.replaceState(null, "", `${this.page}${search === "" ? "" : `?${search}`}`);
    this.changed();
  }
  // Before a set() that takes their meaning away.
  forget(...names) {
    for (const name of names) delete this.values[name];
  }
  isSet(name) { return this.get(name) === "true"; }
}

// A labelled control. `among`: what is offered, or a promise of it.
export function control(choices, name, label, {among = null, width = 12, hint = "as usual"} = {}) {
  const list = among === null ? null : element("datalist", {id: `list-${name}`});
  Promise.resolve(among).then((values) => list?.append(...values.map((value) => element("option", {value}))), () => {});
  const input = element("input", {name, size: width, value: choices.get(name), list: list === null ? null : list.id, placeholder: hint, autocomplete: "off",
                                  onchange: () => choices.set(name, input.value.trim())});
  return element("label", {}, `${label} `, input, list);
}

export function choice(choices, name, label, values) {
  const select = element("select", {name, onchange: () => choices.set(name, select.value)},
    values.map(([value, text]) => element("option", {value, selected: choices.get(name) === value}, text)));
  return element("label", {}, `${label} `, select);
}

export function flag(choices, name, label) {
  const box = element("input", {type: "checkbox", name, checked: choices.isSet(name), onchange: () => choices.set(name, box.checked)});
  return element("label", {}, box, ` ${label}`);
}

// What the program knows by name is the same as long as it runs: it is asked for once.
function once(question) {
  let answer = null;
  return () => answer ??= ask(question).then((text) => JSON.parse(text)[question], (error) => {
    answer = null;
    throw error;
  });
}
export const allMetrics = once("metrics");
const allAxes = once("axes");
const names = (entries) => entries.map((entry) => entry.name);
export const metrics = () => allMetrics().then(names);
export const axes = () => allAxes().then(names);
