// The page: which view the address names, and when it is asked anew.
import {Gone, Refusal, ask, takeKey} from "./api.js";
import {compareView, compareWithinView} from "./compare_view.js";
import {element} from "./dom.js";
import {jobView} from "./job_view.js";
import {place} from "./place.js";
import {sweepView} from "./sweep_view.js";
import {sweepsView} from "./sweeps_view.js";
import {workersView} from "./workers_view.js";

const LOOK_EVERY_MS = 2000;

const main = document.getElementById("main");
const standing = document.getElementById("standing");

// "#/sweep/ID?rows=task": the words of the path, and parameters; nothing: it is none.
function address() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  try {
    return {words: path.split("/").filter((word) => word !== "").map(decodeURIComponent), parameters: new URLSearchParams(search)};
  } catch {
    return null;
  }
}

const noSuchPage = () => ({title: "There is no such page", panels: []});

function viewOf(at) {
  if (at === null) return noSuchPage();
  const {words, parameters} = at;
  if (words.length === 0) return sweepsView();
  if (words[0] === "sweep" && words.length === 2) return sweepView(words[1], parameters);
  if (words[0] === "compare" && words.length === 2) return compareWithinView(words[1], parameters);
  if (words[0] === "compare" && words.length === 3) return compareView(words[1], words[2], parameters);
  if (words[0] === "job" && words.length === 2) return jobView(words[1]);
  if (words[0] === "workers" && words.length === 1) return workersView();
  return noSuchPage();
}

let view = null;

function stand(text, kind) {
  if (standing.textContent !== text) standing.textContent = text;
  standing.className = kind;
}

// `all`: also what rests.
async function refresh(all) {
  const refreshed = view;
  await Promise.all(refreshed.panels.map((panel) => all ? panel.refresh() : panel.refreshInTime()));
  if (refreshed !== view) return;
  if (refreshed.panels.some((panel) => panel.away)) stand("away", "trouble");
  else stand(place.changing ? "live" : "", place.changing ? "live" : "");
}

function say(error) {
  stand(error.message, "trouble");
  if (!(error instanceof Gone) && !(error instanceof Refusal)) console.error(error);
}

async function open() {
  for (const panel of view?.panels ?? []) panel.leave();
  const at = address();
  view = viewOf(at);
  document.title = `${view.title} - Longreach`;
  main.replaceChildren(view.heading ?? element("h1", {}, view.title), ...view.panels.map((panel) => panel.node));
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === (at?.words[0] === "workers" ? "#/workers" : "#/")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.focus({preventScroll: true});
  await refresh(true);
}

async function look() {
  try {
    const before = {...place};
    Object.assign(place, JSON.parse(await ask("place")));
    document.getElementById("place").textContent = place.flags.trim();
    if (view === null) await open();
    // What somebody did there last, whether or not this page was looked at meanwhile.
    else if (place.version !== before.version || place.changing !== before.changing || standing.className === "trouble") await refresh(true);
    else if (place.changing && !document.hidden) await refresh(false);
  } catch (error) {
    say(error);
  }
  setTimeout(look, LOOK_EVERY_MS);
}

takeKey();
window.addEventListener("hashchange", () => {
  takeKey();
  open().catch(say);
});
look();
