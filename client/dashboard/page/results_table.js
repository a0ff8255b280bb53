// A table of results as papers print it: rows in groups, the best of each row marked, published values beside the measured ones.
import {element} from "./dom.js";
import {count, measured, withSign} from "./format.js";

const label = (entry) => entry.label === "" ? entry.key : entry.label;

// What a cell is made of, for who points at it.
function origin(cell, unit) {
  const parts = [`${count(cell.measured_jobs, "job")} of ${cell.jobs} with a value`];
  if (cell.median !== undefined) parts.push(`median ${measured(cell.median, unit)}`);
  if (cell.deviation !== undefined) parts.push(`standard deviation ${measured(cell.deviation, unit)}`);
  if (cell.failed > 0) parts.push(`${cell.failed} failed`);
  if (cell.diverged > 0) parts.push(`${cell.diverged} diverged`);
  if (cell.builds > 1) parts.push(`${cell.builds} builds`);
  return parts.join(", ");
}

function cellNode(cell, unit, published) {
  const value = cell.measured === undefined ? "-" : measured(cell.measured, unit);
  const parts = [cell.best ? element("strong", {}, value) : value];
  if (published) {
    const text = cell.published === undefined ? "" : cell.published_text || measured(cell.published, unit);
    parts.push(element("span", {class: "published"}, text === "" ? "" : [" (", cell.published_best ? element("strong", {}, text) : text, ")"]));
  }
  return element("td", {class: "number", title: origin(cell, unit)}, parts);
}

function gainLine(table) {
  const signed = (value) => withSign(measured(value, table.unit));
  const error = table.gain_error === undefined ? "" : `, standard error ${measured(table.gain_error, table.unit)}`;
  const published = [];
  if (table.published_gain_of_cells !== undefined) published.push(`${signed(table.published_gain_of_cells)} from its cells`);
  if (table.published_gain_stated !== undefined) published.push(`${signed(table.published_gain_stated)} stated`);
  if (table.gain === undefined && published.length === 0) return null;
  const ours = table.gain === undefined ? "not measured yet" : `${signed(table.gain)} ${table.unit === "%" ? "points" : table.unit} (${count(table.gain_pairs, "pair")}${error})`;
  return element("p", {}, `randomized minus plain, in the mean: ${ours}${published.length === 0 ? "" : `; published: ${published.join(", ")}`}`);
}

export const hasPublished = (table) => table.cells.some((cell) => cell.published !== undefined);

export function resultsTable(table, {published}) {
  const {rows, columns, cells, unit} = table;
  const groups = rows.some((row) => row.group !== "");
  const legend = [];
  if (cells.some((cell) => cell.best || (published && cell.published_best))) legend.push("bold: best of its row");
  if (rows.some((row) => row.mark === "permutation_invariant")) legend.push("† permutation-invariant");
  if (published) legend.push("in parentheses: published");
  const missing = cells.filter((cell) => cell.measured === undefined);
  if (missing.length > 0) legend.push(`- not measured${missing.some((cell) => cell.diverged > 0) ? ", or all diverged" : ""}`);
  const row = (entry, at) => {
    const first = at === 0 || rows[at - 1].group !== entry.group;
    return element("tr", {class: first && at > 0 ? "group" : null},
      groups ? element("td", {}, first ? entry.group : "") : null,
      element("th", {scope: "row"}, label(entry) + (entry.mark === "permutation_invariant" ? "†" : "")),
      columns.map((_, column) => cellNode(cells[at * columns.length + column] ?? {jobs: 0, measured_jobs: 0}, unit, published)));
  };
  return element("div", {},
    element("p", {class: "title"}, table.title),
    element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Results table"},
      element("table", {class: "results"},
        element("caption", {class: "hidden"}, table.title),
        element("thead", {}, element("tr", {}, groups ? element("td") : null, element("td"),
          columns.map((column) => element("th", {scope: "col", class: "number"}, label(column))))),
        element("tbody", {}, rows.map(row)))),
    element("p", {class: "legend"}, legend.join("; ")),
    gainLine(table),
    table.notes.map((note) => element("p", {class: "legend"}, `note: ${note}`)));
}
