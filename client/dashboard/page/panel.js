// A part of a page: a question, what is drawn of its answer, and the command that prints the same.
import {Gone, Refusal, ask} from "./api.js";
import {element} from "./dom.js";
import {commandLine} from "./format.js";
import {place} from "./place.js";

// A question is asked again by itself once so many times as long has gone by as its answer took, the last two times at least: a table of very many jobs less
// often. What took long once had to wait, for a scheduler that was away or a command that had the store.
const REST = 10;
// What could not be drawn is tried again after this.
const AFTER_FAILURE_MS = 30000;
const AWAY = 503;

function command(line) {
  const copy = element("button", {type: "button", class: "copy", onclick: async () => {
    await navigator.clipboard.writeText(line);
    copy.textContent = "copied";
  }}, "copy");
  return [element("code", {}, line), " ", copy];
}

function refusal(error) {
  return element("div", {class: "refusal"}, element("p", {}, error.message), error.hint ? element("p", {class: "hint"}, error.hint) : null);
}

// Puts what is new in place of what was, and leaves a reader where he is: scrolled, and with the focus on the same link or region.
function replace(body, drawn) {
  const moving = (node) => [...node.querySelectorAll(".scroll, pre, figure")];
  const scrolled = moving(body).map((node) => [node.scrollTop, node.scrollLeft]);
  const focused = body.contains(document.activeElement) ? document.activeElement : null;
  const same = (node) => focused.hasAttribute("href") ? node.getAttribute("href") === focused.getAttribute("href") : node.getAttribute("aria-label") === focused.getAttribute("aria-label");
  body.replaceChildren(drawn);
  moving(body).forEach((node, at) => { if (scrolled[at] !== undefined) [node.scrollTop, node.scrollLeft] = scrolled[at]; });
  if (focused !== null) [...body.querySelectorAll(focused.tagName)].find(same)?.focus({preventScroll: true});
}

// title: its heading. question(answer): {name, parameters, words, options}, the name and parameters of ask(), the words and options of the command
// line; `answer` is what was drawn last, if anything was. draw(answer): an element, or a promise of one. controls: elements above it.
// answer(question): a promise of the text that is drawn, where it is more than one question's.
export class Panel {
  constructor({title, question, draw, controls = [], answer = ({name, parameters}) => ask(name, parameters)}) {
    this.question = question;
    this.answer = answer;
    this.draw = draw;
    this.body = element("div", {class: "body"}, element("p", {class: "wait"}, "…"));
    this.foot = element("p", {class: "command"});
    this.node = element("section", {"aria-label": title},
      element("h2", {}, title), controls.length === 0 ? null : element("form", {class: "controls", onsubmit: (event) => event.preventDefault()}, controls), this.body, this.foot);
    this.shown = "";
    this.turn = 0;
    this.rests = 0;
    this.took = 0;
    this.failedUntil = 0;
    // Whether the scheduler was there when it was last asked.
    this.away = false;
  }

  // As refresh(), unless the last answer took so long that it is too early.
  async refreshInTime() {
    if (performance.now() >= this.rests) await this.refresh();
  }

  // After a change of a control. That the dashboard does not answer is said by who looks at it all the time.
  change() {
    this.refresh().catch(() => {});
  }

  // Of a page that is left: what comes late is not drawn.
  leave() {
    ++this.turn;
    this.rests = Infinity;
  }

  // Asks, and draws where the answer is another than before.
  async refresh() {
    const turn = ++this.turn;
    const began = performance.now();
    this.rests = Infinity;  // Not twice at a time.
    try {
      await this.askAndDraw(turn);
    } finally {
      if (turn === this.turn) {
        const now = performance.now();
        this.rests = now + REST * Math.min(this.took, now - began);
        this.took = now - began;
      }
    }
  }

  async askAndDraw(turn) {
    const question = this.question();
    const asked = JSON.stringify(question.parameters ?? {});
    if (asked !== this.asked) this.name(question);
    this.asked = asked;
    let text, drawn, failed = false;
    try {
      text = await this.answer(question);
      if (turn !== this.turn) return;
      this.away = false;
      if (text === this.shown && performance.now() < this.failedUntil) return;
      const answer = JSON.parse(text);
      drawn = await this.draw(answer);
      if (turn === this.turn) this.name(this.question(answer));
    } catch (error) {
      if (error instanceof Gone) throw error;
      if (!(error instanceof Refusal)) console.error(error);
      text ??= `${error.message}\n${error.hint ?? ""}`;
      if (turn !== this.turn) return;
      this.away = error.status === AWAY;
      if (text === this.shown) return;
      drawn = refusal(error);
      failed = true;
    }
    // Another question was asked meanwhile, such as after a change of a control.
    if (turn !== this.turn) return;
    this.shown = text;
    this.failedUntil = failed ? performance.now() + AFTER_FAILURE_MS : Infinity;
    replace(this.body, drawn);
  }

  // The command below.
  name({words, options = {}}) {
    const line = commandLine(words, options, place.flags);
    if (line === this.line) return;
    this.line = line;
    this.foot.replaceChildren(...command(line));
  }
}
