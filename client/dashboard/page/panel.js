// A part of a page: a question, what is drawn of its answer, and the command that prints the same.
import {Gone, Refusal, ask} from "./api.js";
import {element} from "./dom.js";
import {commandLine} from "./format.js";
import {place} from "./place.js";

// A question is asked again by itself once so many times as long has gone by as its answer took: a table of very many jobs less often.
const REST = 10;

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

// title: its heading. question(): {name, parameters, words, options}, the name and parameters of ask(), the words and options of the command line.
// draw(answer): an element, or a promise of one. controls: elements above it. answer(question): a promise of the text that is drawn, where it is more than one question's.
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
  }

  // As refresh(), unless the last answer took so long that it is too early.
  async refreshInTime() {
    if (performance.now() >= this.rests) await this.refresh();
  }

  // After a change of a control. That the dashboard has ended is said by who looks at it all the time.
  change() {
    this.refresh().catch(() => {});
  }

  // Asks, and draws where the answer is another than before.
  async refresh() {
    const turn = ++this.turn;
    const began = performance.now();
    this.rests = Infinity;  // Not twice at a time.
    try {
      await this.askAndDraw(turn);
    } finally {
      if (turn === this.turn) this.rests = performance.now() + REST * (performance.now() - began);
    }
  }

  async askAndDraw(turn) {
    const question = this.question();
    const line = commandLine(question.words, question.options ?? {}, place.flags);
    if (line !== this.line) {
      this.line = line;
      this.foot.replaceChildren(...command(line));
    }
    let shown, drawn;
    try {
      shown = await this.answer(question);
      if (turn !== this.turn || shown === this.shown) return;
      drawn = await this.draw(JSON.parse(shown));
    } catch (error) {
      if (error instanceof Gone) throw error;
      if (!(error instanceof Refusal)) console.error(error);
      shown = `${error.message}\n${error.hint ?? ""}`;
      if (turn !== this.turn || shown === this.shown) return;
      drawn = refusal(error);
    }
    // Another question was asked meanwhile, such as after a change of a control.
    if (turn !== this.turn) return;
    this.shown = shown;
    this.body.replaceChildren(drawn);
  }
}
