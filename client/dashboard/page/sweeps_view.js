// All sweeps, the newest first.
import {element, table} from "./dom.js";
import {shortId, time} from "./format.js";
import {Panel} from "./panel.js";
import {jobsBar, jobsText} from "./jobs_bar.js";

const sweepLink = (sweep) => element("a", {href: `#/sweep/${sweep.id}`}, sweep.name === "" ? shortId(sweep.id) : sweep.name);

function draw({sweeps}) {
  if (sweeps.length === 0) return element("p", {}, "no sweep was submitted yet; 'longreach list presets' names some to start with");
  return table("Sweeps", ["Sweep", "Id", "State", "Jobs", "Submitted"],
    sweeps.map((sweep) => [sweepLink(sweep), element("code", {}, shortId(sweep.id)), sweep.state, element("div", {}, jobsBar(sweep), jobsText(sweep)), time(sweep.submitted_at)]));
}

export function sweepsView() {
  return {title: "Sweeps", panels: [new Panel({title: "All sweeps", question: () => ({name: "sweeps", words: ["sweeps"]}), draw})]};
}
