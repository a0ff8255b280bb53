// Figures, drawn by Vega from the specifications that 'longreach plot' writes.
import {get} from "./api.js";
import {element} from "./dom.js";

const AGAIN_MS = 300;

let loading = null;

// The script is large, so it comes with the first figure. It is no part of the dashboard: what lacks to have it is said by whoever serves it. While it is
// being made, for another page, an empty one comes.
async function load() {
  while (window.vegaEmbed === undefined) {
    await loadOnce();
    if (window.vegaEmbed === undefined) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

async function loadOnce() {
  loading ??= new Promise((resolve, reject) => {
    const script = element("script", {src: "/vega.js", onload: () => {
      script.remove();
      loading = null;
      resolve();
    }, onerror: () => {
      script.remove();
      reject(new Error("what draws figures could not be loaded"));
    }});
    document.head.append(script);
  });
  try {
    await loading;
  } catch (error) {
    loading = null;
    await get("/vega.js");  // Says why.
    throw error;
  }
}

const dark = () => window.matchMedia("(prefers-color-scheme: dark)").matches;

// Expressions are interpreted, as the page may not make scripts of texts.
export async function chart(specification, label) {
  await load();
  // The newest version draws what was written for the one before, as it does for 'longreach plot'; named, it would say so each time.
  const {$schema: _, ...drawn} = specification;
  const node = element("div");  // Vega names it as it likes.
  await window.vegaEmbed(node, drawn, {
    mode: "vega-lite", actions: false, ast: true, renderer: "svg", defaultStyle: false, tooltip: {disableDefaultStyle: true}, ...(dark() ? {theme: "dark"} : {}),
    config: {background: "transparent"},
  });
  return element("figure", {"aria-label": label}, node);
}
