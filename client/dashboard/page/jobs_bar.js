// How far a sweep's jobs are.
import {svg} from "./dom.js";

const STATES = ["succeeded", "leased", "queued", "waiting", "failed", "cancelled"];

// "12 of 54 succeeded, 9 leased, 1 failed": the states that there are, the first even without jobs.
export function jobsText({jobs, counts}) {
  const rest = STATES.slice(1).filter((state) => counts[state] > 0).map((state) => `${counts[state]} ${state}`);
  if (counts.diverged > 0) rest.push(`${counts.diverged} diverged`);
  return [`${counts.succeeded} of ${jobs} succeeded`, ...rest].join(", ");
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
