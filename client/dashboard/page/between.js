// Which two kinds of one sweep's jobs stand beside each other: an axis or a setting, and two of the values that the sweep has of it.
import {ask} from "./api.js";
import {element} from "./dom.js";

// As the command has it: plain and randomized positions of each encoding, which need no values.
const POSITIONS = "randomized";
const isRandomized = (encoding) => encoding.endsWith(`:${POSITIONS}`);

// By the axis: those of which there are two values at least.
function comparable(values) {
  const known = new Map();
  for (const {axis, value} of values) known.set(axis, [...(known.get(axis) ?? []), value]);
  const encodings = known.get("encoding") ?? [];
  const positions = encodings.some(isRandomized) && !encodings.every(isRandomized) ? [[POSITIONS, []]] : [];
  return new Map([...positions, ...[...known].filter(([, of_axis]) => of_axis.length > 1)]);
}

function fill(select, values, chosen) {
  select.replaceChildren(...values.map((value) => element("option", {value, selected: value === chosen}, value === POSITIONS ? "plain and randomized" : value)));
}

export class Between {
  // `choices` keep what is chosen, as "between", "first" and "second".
  constructor(sweep, choices) {
    this.sweep = sweep;
    this.choices = choices;
    this.known = null;
    this.axis = element("select", {name: "between", onchange: () => {
      choices.forget("first", "second");  // They were of another axis.
      choices.set("between", this.axis.value);
    }});
    const [first, second] = this.sides = ["first", "second"].map((name) => element("select", {name, onchange: (event) => choices.set(name, event.target.value)}));
    this.labels = [element("label", {}, "First ", first), element("label", {}, "Second ", second)];
    this.controls = [element("label", {}, "Between ", this.axis), ...this.labels];
  }

  // Asks what there is; a sweep's values do not change.
  async learn() {
    if (this.known !== null) return;
    this.known = comparable(JSON.parse(await ask("values", {sweep: this.sweep})).values);
    this.offer();
  }

  // What is chosen, as far as there is such a thing, else what comes first; nothing: nobody knows yet what there is, or nothing has two values.
  chosen() {
    const wanted = (name, among) => among.includes(this.choices.get(name)) ? this.choices.get(name) : among[0];
    const axis = wanted("between", [...(this.known?.keys() ?? [])]);
    if (axis === undefined) return null;
    const values = this.known.get(axis);
    const first = wanted("first", values);
    const others = values.filter((value) => value !== first);
    return {axis, values, first, others, second: wanted("second", others)};
  }

  // The choices, after a change.
  offer() {
    const chosen = this.chosen();
    fill(this.axis, [...(this.known?.keys() ?? [])], chosen?.axis);
    fill(this.sides[0], chosen?.values ?? [], chosen?.first);
    fill(this.sides[1], chosen?.others ?? [], chosen?.second);
    for (const label of this.labels) label.hidden = chosen === null || chosen.axis === POSITIONS;
  }

  // As --between takes it; empty: nothing is chosen.
  text() {
    const chosen = this.chosen();
    if (chosen === null) return "";
    return chosen.axis === POSITIONS ? POSITIONS : `${chosen.axis}=${chosen.first},${chosen.second}`;
  }
}
