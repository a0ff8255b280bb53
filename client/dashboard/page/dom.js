// Elements of the page. Whatever comes from a store becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";
// What is obeyed or unseen instead of shown: control characters but tabs and line feeds, turns of direction, ends of lines, tags.
const OBEYED = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const utf8 = new TextEncoder();

// As a terminal shows them: \xNN.
const printable = (text) => text.replace(OBEYED, (char) => Array.from(utf8.encode(char), (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""));

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, printable(String(value)));
  }
  const there = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== "");
  node.append(...there.map((child) => child instanceof Node ? child : printable(String(child))));
  return node;
}

// element("a", {href: "#/"}, "text", [other, elements]); attributes that begin with "on" are listeners.
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// A table of more rows has a bar of its own.
const LONG = 20;

// A table of rows of cells; a cell is a text, an element, or {value, number: true}. `caption` names it for screen readers.
export function table(caption, headers, rows) {
  const cell = (tag, content) => {
    const {value, number} = content instanceof Node || typeof content !== "object" ? {value: content} : content;
    return element(tag, {class: number ? "number" : null, scope: tag === "th" ? "col" : null}, value === "" ? "-" : value);
  };
  return element("div", {class: rows.length > LONG ? "scroll long" : "scroll", tabindex: "0", role: "region", "aria-label": `${caption} table`},
    element("table", {},
      element("caption", {class: "hidden"}, caption),
      element("thead", {}, element("tr", {}, headers.map((header) => cell("th", header)))),
      element("tbody", {}, rows.map((row) => element("tr", {}, row.map((content) => cell("td", content)))))));
}
