// The workers, and what they do.
import {element, table} from "./dom.js";
import {shortId, time} from "./format.js";
import {Panel} from "./panel.js";

export const doing = (one) => `${one.task} ${one.encoding} ×${one.members}: step ${one.step.toLocaleString("en")} of ${one.steps.toLocaleString("en")}`;

export const PHASE_OF_A_FULL_DISK = "waits for its disk";
// Of the phases the one that somebody should do something about.
const doingHere = (one) => `${doing(one)}${one.phase === PHASE_OF_A_FULL_DISK ? `, ${one.phase}` : ""}`;

// What is to be done about workers whose disk is full; empty: none is.
export function fullDisks(running) {
  const workers = [...new Set(running.filter((one) => one.phase === PHASE_OF_A_FULL_DISK).map((one) => `'${one.worker_name}'`))];
  if (workers.length === 0) return "";
  const [who, disks] = workers.length === 1 ? [`worker ${workers[0]} has`, "its disk"] : [`workers ${workers.join(", ")} have`, "their disks"];
  return `${who} no room on ${disks} for what is computed; free some there, and it goes on by itself`;
}

// Workers that come while the store takes nothing are not known to the scheduler.
function drawTrouble(trouble, workers) {
  const refusal = element("p", {class: "refusal"}, `${trouble}, so that workers that have come meanwhile are not known; it goes on by itself`);
  return workers.length === 0 ? refusal : element("div", {}, refusal, draw({workers}));
}

function draw({workers, store_trouble = ""}) {
  if (store_trouble !== "") return drawTrouble(store_trouble, workers);
  if (workers.length === 0) return element("p", {}, "no worker has come yet; 'longreach-worker run --scheduler ADDR' starts one");
  // A column that is hardly ever needed.
  const damaged = workers.some((worker) => worker.damaged_data_sets?.length > 0);
  return table("Workers", ["Worker", "Id", "State", "Device", {value: "Threads", number: true}, {value: "Pack limit", number: true}, "Seen", "Does", "Why it gets no work", ...(damaged ? ["Damaged data sets"] : [])],
    workers.map((worker) => [worker.name, element("code", {}, shortId(worker.id)), worker.state, worker.device, {value: worker.threads, number: true},
                             {value: worker.pack_limit, number: true}, time(worker.seen_at), worker.running.map((one) => element("div", {}, doingHere(one))), worker.reason,
                             ...(damaged ? [worker.damaged_data_sets.map((one) => element("div", {}, `${one.name}: ${one.reason}`))] : [])]));
}

export function workersView() {
  return {title: "Workers", panels: [new Panel({title: "All workers", question: () => ({name: "workers", words: ["workers"]}), draw})]};
}
