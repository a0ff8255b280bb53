// One sweep: how far it is, its table, its figure, its jobs.
import {ask} from "./api.js";
import {chart} from "./chart.js";
import {Choices, axes, choice, control, flag, metrics} from "./controls.js";
import {element, table} from "./dom.js";
import {count, durationOrLess, fixed, rate, shortId, shortest, time, timeLeft} from "./format.js";
import {jobsBar, jobsText, stateWord} from "./jobs_bar.js";
import {Panel} from "./panel.js";
import {place} from "./place.js";
import {hasPublished, resultsTable} from "./results_table.js";
import {doing, fullDisks} from "./workers_view.js";

const MOST_JOBS = 200;
const STATES = ["queued", "leased", "waiting", "succeeded", "failed", "cancelled", "diverged"];
const AGGREGATES = ["max", "min", "mean", "median"];
// Of jobs; a setting goes by its path.
const JOB_AXES = ["learning_rate", "seed", "encoding", "task", "system"];
const named = (values) => [["", "as usual"], ...values.map((value) => [value, value])];

// Why none of its jobs runs, though some could: what 'longreach status' says, and 'longreach explain' of one. Empty: one runs or can.
async function whyNothingRuns({sweep, running, finished}) {
  if (finished || sweep.state === "cancelled") return [];
  // Whatever is said to run: who had it has ended without a word.
  if (!place.changing) return ["nobody works on this store now; 'longreach run' with the sweep's preset or file and this --store goes on with it"];
  if (sweep.state === "paused") return [`the sweep is paused; 'longreach resume ${shortId(sweep.id)}${place.flags}' lets it go on`];
  if (running.length > 0 || sweep.counts.queued === 0) return [];
  const {jobs} = JSON.parse(await ask("jobs", {sweep: sweep.id, state: "queued", limit: 1}));
  if (jobs.length === 0) return [];
  const {reasons, stuck, no_worker} = JSON.parse(await ask("explain", {job: jobs[0].id}));
  // Of a store it is the one of 'longreach run', which is on its way.
  if (no_worker && !place.flags.includes("--store")) return ["nothing runs, for no worker is there: 'longreach-worker run --scheduler ADDR' starts one"];
  return stuck ? [`job ${shortId(jobs[0].id)} does not begin`, ...reasons.slice(1)] : [];
}

async function askStatus({name, parameters}) {
  const update = JSON.parse(await ask(name, parameters));
  return JSON.stringify({...update, why: await whyNothingRuns(update)});
}

function drawStatus({sweep, running, finished, why, job_steps_per_second, job_steps_done, job_steps_total, store_trouble, stalled, ...times}) {
  const facts = [jobsText(sweep), `${sweep.state}, priority ${sweep.priority}, submitted ${time(sweep.submitted_at)}`];
  if (job_steps_total > 0) facts.push(`${Math.floor(100 * job_steps_done / job_steps_total)} % of ${count(job_steps_total, "job-step")}`);
  const pace = [job_steps_per_second > 0 ? `${rate(job_steps_per_second)} job-steps/s` : "", finished ? "" : timeLeft(times)].filter((part) => part !== "");
  if (pace.length > 0) facts.push(pace.join(", "));
  if (finished && sweep.seconds_taken !== undefined && sweep.expected !== undefined) {
    facts.push(`took ${durationOrLess(sweep.seconds_taken)}; ${durationOrLess(sweep.expected.seconds)} was expected at its begin`);
  }
  return element("div", {},
    jobsBar(sweep),
    facts.map((fact) => element("p", {}, fact)),
    why.map((reason) => element("p", {class: "refusal"}, reason)),
    store_trouble === "" ? null : element("p", {class: "refusal"}, store_trouble),
    fullDisks(running) === "" ? null : element("p", {class: "refusal"}, fullDisks(running)),
    stalled === "" ? null : element("p", {class: "refusal"}, stalled),
    running.length === 0 ? null : table("Running packs", ["Worker", "Pack", "Phase", {value: "Steps/s", number: true}],
      running.map((one) => [one.worker_name, doing(one), one.phase, {value: one.steps_per_second > 0 ? rate(one.steps_per_second) : "", number: true}])));
}

function drawJobs({jobs}) {
  if (jobs.length === 0) return element("p", {}, "none");
  const systems = jobs.some((job) => job.systems.length > 0);
  return element("div", {}, table("Jobs", ["Job", ...(systems ? ["System"] : []), "Task", "Encoding", {value: "Learning rate", number: true}, {value: "Seed", number: true}, "State",
                                           {value: "Step", number: true}, {value: "Score", number: true}, "Failure"],
    jobs.slice(0, MOST_JOBS).map((job) => [element("a", {href: `#/job/${job.id}`}, element("code", {}, shortId(job.id))), ...(systems ? [job.systems.join(", ")] : []), job.task, job.encoding,
                                           {value: shortest(job.learning_rate), number: true}, {value: job.seed, number: true}, job.diverged ? `${stateWord(job.state)}, diverged` : stateWord(job.state),
                                           {value: `${job.step ?? 0}/${job.steps}`, number: true}, {value: job.score === undefined ? "" : fixed(job.score, 4), number: true}, job.failure])),
  jobs.length > MOST_JOBS ? element("p", {class: "legend"}, `the first ${MOST_JOBS}`) : null);
}

function resultsPanel(id, choices) {
  const options = () => ({rows: choices.get("rows"), columns: choices.get("columns"), metric: choices.get("metric"), aggregate: choices.get("aggregate"),
                          length: choices.get("length"), only: choices.get("only").split(" ")});
  return new Panel({
    title: "Results",
    question: (answer) => ({name: "results", parameters: {sweep: id, ...options()}, words: ["results", shortId(id)],
                            options: {...options(), published: answer !== undefined && hasPublished(answer)}}),
    draw: (answer) => resultsTable(answer, {published: hasPublished(answer)}),
    controls: [control(choices, "rows", "Rows", {among: axes()}), control(choices, "columns", "Columns", {among: axes()}),
               control(choices, "metric", "Metric", {among: metrics()}), choice(choices, "aggregate", "Over the rest", named(AGGREGATES)),
               control(choices, "length", "Length", {width: 8}), control(choices, "only", "Only", {width: 26, hint: "task=even_pairs seed=0,1"})],
  });
}

function figurePanel(id, choices) {
  const losses = () => choices.get("figure") === "losses";
  const options = () => ({...(losses() ? {x: "step"} : {x: choices.get("x"), y: choices.get("y"), metric: choices.get("metric")}), lines: choices.get("lines"),
                          panels: choices.get("panels"), "best-of": choices.get("best-of"), only: choices.get("only").split(" "), log: choices.isSet("log")});
  return new Panel({
    title: "Figure",
    question: () => ({name: "plot", parameters: {sweep: id, ...options(), log: choices.isSet("log") ? "1" : ""}, words: ["plot", shortId(id)],
                      options: {...options(), file: "figure.svg"}}),
    draw: (specification) => chart(specification, losses() ? "Losses of training" : "Measurements"),
    controls: [choice(choices, "figure", "Of", [["", "tests"], ["losses", "losses of training"]]), control(choices, "x", "X", {among: axes()}),
               control(choices, "y", "Y", {among: axes(), hint: "the metric"}), control(choices, "lines", "Lines", {among: axes()}),
               control(choices, "panels", "Panels", {among: axes().then((known) => [...known, "none"])}),
               control(choices, "best-of", "Best of", {among: JOB_AXES, hint: "none"}), flag(choices, "log", "logarithmic")],
  });
}

function jobsPanel(id, choices) {
  const options = () => ({state: choices.get("state"), limit: MOST_JOBS + 1});
  return new Panel({
    title: "Jobs",
    question: () => ({name: "jobs", parameters: {sweep: id, ...options()}, words: ["jobs", shortId(id)], options: {state: stateWord(choices.get("state"))}}),
    draw: drawJobs,
    controls: [choice(choices, "state", "State", [["", "all"], ...STATES.map((state) => [state, stateWord(state)])])],
  });
}

// Where to compare it with another one, or jobs of its own.
function comparison(id) {
  const others = element("select", {onchange: () => {
    const sweeps = others.value === id ? [id] : [id, others.value];
    if (others.value !== "") location.hash = `#/compare/${sweeps.map(encodeURIComponent).join("/")}`;
  }}, element("option", {value: ""}, "another sweep"), element("option", {value: id}, "itself: two values of an axis"));
  ask("sweeps").then((answer) => {
    const {sweeps} = JSON.parse(answer);
    others.append(...sweeps.filter((sweep) => sweep.id !== id).map((sweep) => element("option", {value: sweep.id}, `${sweep.name} ${shortId(sweep.id)}`)));
  }, () => {});
  return element("label", {}, "Compare with ", others);
}

export function sweepView(id, parameters) {
  const view = {title: `Sweep ${shortId(id)}`, heading: element("h1", {}, `Sweep ${shortId(id)}`)};
  // Most choices are of several panels.
  const choices = new Choices(`#/sweep/${encodeURIComponent(id)}`, parameters, () => view.panels.forEach((panel) => panel.change()));
  const status = new Panel({
    title: "Status",
    question: () => ({name: "status", parameters: {sweep: id}, words: ["status", shortId(id)]}),
    answer: askStatus,
    draw: (answer) => {
      if (answer.sweep.name !== "" && view.heading.isConnected) {
        view.heading.textContent = answer.sweep.name;
        document.title = `${answer.sweep.name} - Longreach`;
      }
      return drawStatus(answer);
    },
    controls: [comparison(id)],
  });
  view.panels = [status, resultsPanel(id, choices), figurePanel(id, choices), jobsPanel(id, choices)];
  return view;
}
