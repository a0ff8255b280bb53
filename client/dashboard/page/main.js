// The page: which view the address names, and when it is asked anew.
import {Gone, Refusal, ask} from "./api.js";
import {element} from "./dom.js";
import {jobView} from "./job_view.js";
import {place} from "./place.js";
import {sweepView} from "./sweep_view.js";
import {sweepsView} from "./sweeps_view.js";
import {workersView} from "./workers_view.js";

const LOOK_EVERY_MS = 2000;

const main = document.getElementById("main");
const standing = document.getElementById("standing");

// "#/sweep/ID?rows=task": the words of the path, and parameters.
function address() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return {words: path.split("/").filter((word) => word !== "").map(decodeURIComponent), parameters: new URLSearchParams(search)};
}

function viewOf({words, parameters}) {
  if (words[0] === "sweep" && words.length === 2) return sweepView(words[1], parameters);
  if (words[0] === "job" && words.length === 2) return jobView(words[1]);
  if (words[0] === "workers") return workersView();
  return sweepsView();
}

let view = null;

// `all`: also what rests.
async function refresh(all) {
  await Promise.all(view.panels.map((panel) => all ? panel.refresh() : panel.refreshInTime()));
  standing.textContent = place.changing ? "live" : "";
  standing.className = place.changing ? "live" : "";
}

function say(error) {
  standing.textContent = error.message;
  standing.className = "trouble";
  if (!(error instanceof Gone) && !(error instanceof Refusal)) console.error(error);
}

async function open() {
  const {words, parameters} = address();
  view = viewOf({words, parameters});
  document.title = `${view.title} - Longreach`;
  main.replaceChildren(element("h1", {}, view.title), ...view.panels.map((panel) => panel.node));
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === (words[0] === "workers" ? "#/workers" : "#/")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.focus({preventScroll: true});
  await refresh(true);
}

async function look() {
  try {
    const before = place.version;
    Object.assign(place, JSON.parse(await ask("place")));
    document.getElementById("place").textContent = place.flags.trim();
    if (view === null) await open();
    else if (place.version !== before || standing.className === "trouble") await refresh(true);
    else if (place.changing && !document.hidden) await refresh(false);
  } catch (error) {
    say(error);
  }
  setTimeout(look, LOOK_EVERY_MS);
}

window.addEventListener("hashchange", () => open().catch(say));
look();
