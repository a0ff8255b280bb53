// Two sweeps, or two kinds of one sweep's jobs, job by job: by how much they differ, and how sure that is.
import {Between} from "./between.js";
import {Choices, allMetrics, control, metrics} from "./controls.js";
import {ask} from "./api.js";
import {element, table} from "./dom.js";
import {fixed, general, shortId, shortest, withSign, withoutMinusOfZero} from "./format.js";
import {Panel} from "./panel.js";

const AXES = {system: "System", task: "Task", encoding: "Encoding", learning_rate: "Learning rate", seed: "Seed"};

// As the command writes them.
function written(value, percent, isDifference) {
  if (typeof value !== "number") return "";
  const shown = percent ? 100 * value : value;
  const text = percent ? fixed(shown, 1) : general(shown, 4);
  return isDifference ? withSign(text) : withoutMinusOfZero(text);
}

// As the command marks rows, and says how many pairs they need: beyond a thousand without a number.
const isMarked = (row, rows) => rows.length > 1 && typeof row.p_holm === "number" && row.p_holm <= 0.05;
function neededPairs({needed, difference, low, high}) {
  if (typeof needed === "number") return String(needed);
  return typeof low === "number" && difference !== 0 && low <= 0 && high >= 0 ? ">1000" : "";
}

function draw({title, settings, rows, notes, unit}) {
  const percent = unit === "%";
  const axes = Object.keys(AXES).filter((axis) => rows.length > 0 && axis in rows[0]);
  const number = (value) => ({value, number: true});
  const withDraws = rows.some((row) => row.draws !== row.pairs);
  const withNeeded = rows.some((row) => neededPairs(row) !== "");
  const drawn = rows.map((row) => [
    ...axes.map((axis, at) => typeof row[axis] === "number" ? shortest(row[axis]) : row[axis] ?? (at === 0 ? "all" : "\u00a0")), number(row.pairs), ...(withDraws ? [number(row.draws)] : []),
    number(written(row.first, percent)), number(written(row.second, percent)),
    number(written(row.difference, percent, true) + (isMarked(row, rows) ? "*" : "")), number(written(row.low, percent, true)), number(written(row.high, percent, true)),
    ...(withNeeded ? [number(neededPairs(row))] : [])]);
  return element("div", {},
    element("p", {}, title),
    element("p", {}, `they differ in ${settings.length === 0 ? "nothing that a sweep says" : settings.join(", ")}`),
    rows.length === 0 ? element("p", {class: "refusal"}, "no job of the first has a partner in the second") :
      table("Differences", [...axes.map((axis) => AXES[axis]), number("Pairs"), ...(withDraws ? [number("Draws")] : []), number("First"), number("Second"), number("Difference"), number("95 % from"), number("to"), ...(withNeeded ? [number("Needed")] : [])], drawn),
    notes.map((note) => element("p", {class: "legend"}, `note: ${note}`)));
}

// With the metric's unit, which another command knows.
async function answer({name, parameters}) {
  const compared = JSON.parse(await ask(name, parameters));
  const known = (await allMetrics()).find((metric) => metric.name === compared.metric);
  return JSON.stringify({...compared, unit: known?.unit ?? ""});
}

const optionsOf = (choices) => ({by: choices.get("by"), metric: choices.get("metric"), length: choices.get("length"), slice: choices.get("slice"), only: choices.get("only").split(" ")});
const controlsOf = (choices) => [control(choices, "by", "By", {among: Object.keys(AXES)}), control(choices, "metric", "Metric", {among: metrics()}), control(choices, "length", "Length", {width: 8}),
                                 control(choices, "slice", "Slice"), control(choices, "only", "Only", {width: 26, hint: "task=even_pairs seed=0,1"})];
const linkTo = (sweep) => element("a", {href: `#/sweep/${encodeURIComponent(sweep)}`}, shortId(sweep));

export function compareView(first, second, parameters) {
  const view = {title: "Compare two sweeps"};
  const choices = new Choices(`#/compare/${encodeURIComponent(first)}/${encodeURIComponent(second)}`, parameters, () => view.panels.forEach((panel) => panel.change()));
  view.heading = element("h1", {}, "Compare ", linkTo(first), " with ", linkTo(second));
  view.panels = [new Panel({
    title: "Differences",
    question: () => ({name: "compare", parameters: {first, second, ...optionsOf(choices)}, words: ["compare", shortId(first), shortId(second)], options: optionsOf(choices)}),
    answer: (question) => answer(question),
    draw,
    controls: controlsOf(choices),
  })];
  return view;
}

export function compareWithinView(sweep, parameters) {
  const view = {title: "Compare within a sweep"};
  const choices = new Choices(`#/compare/${encodeURIComponent(sweep)}`, parameters, () => {
    between.offer();
    view.panels.forEach((panel) => panel.change());
  });
  const between = new Between(sweep, choices);
  const options = () => ({between: between.text(), ...optionsOf(choices)});
  const question = () => between.text() === "" ? {name: "values", parameters: {sweep}, words: ["list", "values", shortId(sweep)]} :
    {name: "between", parameters: {sweep, ...options()}, words: ["compare", shortId(sweep)], options: options()};
  view.heading = element("h1", {}, "Compare within ", linkTo(sweep));
  const panel = new Panel({
    title: "Differences",
    question,
    // What there is to choose from is asked first.
    answer: async () => {
      await between.learn();
      panel.name(question());
      if (between.text() === "") return JSON.stringify({nothing: true});
      return answer(question());
    },
    draw: (compared) => compared.nothing ? element("p", {}, "its jobs have one value of each axis") : draw(compared),
    controls: [...between.controls, ...controlsOf(choices)],
  });
  view.panels = [panel];
  return view;
}
