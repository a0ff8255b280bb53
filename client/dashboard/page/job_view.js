// One job: why it is where it is, its attempts, what it measured, its losses, files and log.
import {chart} from "./chart.js";
import {element, table} from "./dom.js";
import {bytes, general, shortId, shortest, time} from "./format.js";
import {stateWord} from "./jobs_bar.js";
import {Panel} from "./panel.js";
import {PHASE_OF_A_FULL_DISK} from "./workers_view.js";

function drawExplained({job, reasons}) {
  return element("div", {},
    element("p", {}, `${job.task}, ${job.encoding}, learning rate ${shortest(job.learning_rate)}, seed ${job.seed}: ${stateWord(job.state)}${job.diverged ? ", diverged" : ""}`),
    reasons.map((reason) => element("p", {}, reason)));
}

const lossesOf = (progress) => ({
  width: 700, height: 220, data: {values: progress.map(({step, loss}) => ({step, loss}))}, mark: {type: "line", tooltip: true},
  encoding: {x: {field: "step", type: "quantitative", title: "step"}, y: {field: "loss", type: "quantitative", title: "loss of training", scale: {zero: false}}},
});

async function losses(progress) {
  if (progress.length < 2) return null;
  try {
    return await chart(lossesOf(progress), "Losses of training by step");
  } catch (error) {
    return element("p", {class: "legend"}, `no figure of its losses: ${error.message}`);
  }
}

const outcomeOf = ({outcome, phase}) => outcome !== "" ? outcome : phase === PHASE_OF_A_FULL_DISK ? `running: ${phase}` : "running";

// Of a job that was never interrupted there is none.
const originsOf = (attempts) => attempts.some((one) => one.went_on_from !== undefined);
const originOf = ({went_on_from: origin}) => origin === undefined ? "" : `attempt ${origin.attempt}, step ${origin.step.toLocaleString("en")}`;

// Of tests while it was trained there may be hundreds of values: its sweep's figure by step draws them.
const isOnTheWay = ({slice}) => slice.startsWith("step=");
const onTheWayOf = (measurements) => measurements.some(isOnTheWay)
  ? element("p", {class: "legend"}, `${measurements.filter(isOnTheWay).length.toLocaleString("en")} values while it was trained are not shown: a figure of its sweep with step as x draws them`) : null;

async function drawJob({attempts, measurements, artifacts, progress, canonical, sweeps}) {
  return element("div", {},
    element("h3", {}, "Attempts"),
    attempts.length === 0 ? element("p", {}, "none yet") : table("Attempts", [{value: "Attempt", number: true}, "Worker", "Outcome", "Device", "Engine", {value: "Jobs", number: true}, "Began", "Ended", "Build", "Detail", ...(originsOf(attempts) ? ["Went on from"] : [])],
      attempts.map((one) => [{value: one.attempt, number: true}, one.worker_name, outcomeOf(one), one.device, one.engine, {value: one.members, number: true}, time(one.started_at), time(one.ended_at), one.build, one.detail,
                              ...(originsOf(attempts) ? [originOf(one)] : [])])),
    progress.length === 0 ? null : element("h3", {}, "Losses of training"),
    await losses(progress),
    element("h3", {}, "Measurements"),
    measurements.length === 0 ? element("p", {}, "none yet") : table("Measurements", ["Metric", {value: "Length", number: true}, "Slice", {value: "Value", number: true}],
      measurements.filter((one) => !isOnTheWay(one)).map((one) => [one.metric, {value: one.length === 0 ? "all" : one.length, number: true}, one.slice, {value: typeof one.value === "number" ? general(one.value, 6) : one.value, number: true}])),
    onTheWayOf(measurements),
    element("h3", {}, "Files"),
    artifacts.length === 0 ? element("p", {}, "none") : table("Files", ["Kind", {value: "Step", number: true}, {value: "Bytes", number: true}, "SHA-256", "Made"],
      artifacts.map((one) => [one.kind, {value: one.step, number: true}, {value: bytes(one.bytes), number: true}, element("code", {}, shortId(one.sha256)), time(one.created_at)])),
    element("h3", {}, "Specification"),
    element("pre", {tabindex: "0", "aria-label": "Specification"}, canonical),
    element("p", {}, "Sweeps: ", sweeps.map((id, at) => [at > 0 ? ", " : "", element("a", {href: `#/sweep/${id}`}, element("code", {}, shortId(id)))])));
}

// Of a job that runs what its attempt has printed so far: the answer says then whether it has ended.
function drawLog({attempt, text, ended, skipped_bytes: skipped}) {
  const cut = skipped === null ? ", its last 64 KiB" : skipped > 0 ? `, without its first ${bytes(skipped)} bytes` : "";
  const legend = `of attempt ${attempt}${ended === false ? ", which runs" : ""}${cut}`;
  return element("div", {}, element("p", {class: "legend"}, legend), element("pre", {tabindex: "0", "aria-label": "Log"}, text === "" ? "no log yet" : text));
}

export function jobView(id) {
  const panel = (title, name, draw) => new Panel({title, question: () => ({name, parameters: {job: id}, words: [name, shortId(id)]}), draw});
  return {
    title: `Job ${shortId(id)}`,
    panels: [
      panel("Why it is where it is", "explain", drawExplained),
      panel("What is known of it", "job", drawJob),
      panel("Log", "logs", drawLog),
    ],
  };
}
