// How far a sweep's jobs are.
import {svg} from "./dom.js";

const STATES = ["succeeded", "leased", "queued", "waiting", "failed", "cancelled"];

// For people "leased", the word of the answers, is "running", as in 'longreach status'.
export const stateWord = (state) => state === "leased" ? "running" : state;

// "12 of 54 succeeded, 9 running, 1 failed": the states that there are, the first even without jobs.
export function jobsText({jobs, counts}) {
  const number = (of) => of.toLocaleString("en");
  const rest = STATES.slice(1).filter((state) => counts[state] > 0).map((state) => `${number(counts[state])} ${stateWord(state)}`);
  if (counts.diverged > 0) rest.push(`${number(counts.diverged)} diverged`);
  return [`${number(counts.succeeded)} of ${number(jobs)} succeeded`, ...rest].join(", ");
}

export function jobsBar(sweep) {
  const parts = [];
  let at = 0;
  for (const state of STATES) {
    const width = sweep.jobs === 0 ? 0 : 100 * sweep.counts[state] / sweep.jobs;
    if (width > 0) parts.push(svg("rect", {class: state, x: at, y: 0, width, height: 8}));
    at += width;
  }
  return svg("svg", {class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": jobsText(sweep)}, parts);
}
