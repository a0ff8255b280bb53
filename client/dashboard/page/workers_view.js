// The workers, and what they do.
import {element, table} from "./dom.js";
import {shortId, time} from "./format.js";
import {Panel} from "./panel.js";

export const doing = (one) => `${one.task} ${one.encoding} ×${one.members}: step ${one.step.toLocaleString("en")} of ${one.steps.toLocaleString("en")}`;

function draw({workers}) {
  if (workers.length === 0) return element("p", {}, "no worker has come yet; 'longreach-worker run --scheduler ADDR' starts one");
  // A column that is hardly ever needed.
  const damaged = workers.some((worker) => worker.damaged_data_sets?.length > 0);
  return table("Workers", ["Worker", "Id", "State", "Device", {value: "Threads", number: true}, {value: "Pack limit", number: true}, "Seen", "Does", "Why it gets no work", ...(damaged ? ["Damaged data sets"] : [])],
    workers.map((worker) => [worker.name, element("code", {}, shortId(worker.id)), worker.state, worker.device, {value: worker.threads, number: true},
                             {value: worker.pack_limit, number: true}, time(worker.seen_at), worker.running.map((one) => element("div", {}, doing(one))), worker.reason,
                             ...(damaged ? [worker.damaged_data_sets.map((one) => element("div", {}, `${one.name}: ${one.reason}`))] : [])]));
}

export function workersView() {
  return {title: "Workers", panels: [new Panel({title: "All workers", question: () => ({name: "workers", words: ["workers"]}), draw})]};
}
