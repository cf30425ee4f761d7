/** The panel beside the list: an item's text at its lines, the graph around it, and what is similar. */

import { go, openItem } from "./address.js";
import { get, isStopped, post } from "./api.js";
import { button, byId, fill, h } from "./elements.js";
import { foldFilters } from "./filters.js";
import { showGraph } from "./graph.js";
import { complain } from "./notice.js";
import { badges } from "./results.js";
import { showText } from "./text.js";
import { fullDay, lastPart, lines, place, shortened } from "./wording.js";

const PANES = { text: "Text", graph: "Graph", similar: "Similar" };

const FRONT_MATTER = /^---\n[^]*?\n---\n/;

let shown = "";
let stop = null;
let before = null;

/** Show what the state names, or nothing. `words` are marked in the text. */
export function showPanel(state, words) {
  const panel = byId("panel");
  const wanted = state.item && state.view === "search" ? JSON.stringify([state.item, state.pane, state.lines, state.node, state.scope]) : "";
  if (wanted === shown) return;
  const wasOpen = shown !== "";
  shown = wanted;
  stop?.abort();
  panel.hidden = !wanted;
  document.body.classList.toggle("beside-panel", wanted !== "");
  if (wasOpen !== (wanted !== "")) foldFilters(byId("filters"), !wasOpen);
  if (!wanted) return leave();
  if (!wasOpen) before = document.activeElement;
  stop = new AbortController();
  load(panel, state, { words, signal: stop.signal, focus: !wasOpen });
}

/** Close it. */
export function closePanel() {
  go({ item: "", pane: "text", lines: "", node: "" });
}

function leave() {
  if (before?.isConnected) before.focus();
  before = null;
}

/** A definition in an item leads to the item, at its lines. */
async function load(panel, state, { words, signal, focus }) {
  const body = h("div", { class: "pane", role: "tabpanel", id: "pane", "aria-labelledby": `pane-${state.pane}`, "aria-busy": "true" });
  const head = h("header", {}, h("h2", { text: state.item }));
  fill(panel, h("div", { class: "panel-bar" }, tabs(state), button("Close", closePanel, { class: "plain", title: "Close (Esc)" })), head, body);
  if (focus) panel.focus({ preventScroll: true });
  panel.scrollTop = 0;
  try {
    const item = await get(`items/${encodeURIComponent(state.item)}`, {}, { signal });
    if (item.item_id) return go({ item: item.item_id, lines: lines(item.line_start, item.line_end) }, { replace: true });
    fill(head, about(item));
    if (state.pane === "graph") await showGraph(body, { node: state.node || state.item, signal });
    else if (state.pane === "similar") fill(body, similar(await post("retrieval/similar", { document_id: state.item, limit: 10, min_score: 0.5 }, { signal })));
    else showText(body, item, { lines: state.lines, words });
  } catch (error) {
    if (isStopped(error)) return;
    fill(body, h("p", { class: "empty", text: error.message }));
    if (error.status !== 404) complain(error);
  }
  body.removeAttribute("aria-busy");
}

function tabs(state) {
  const made = Object.entries(PANES).map(([pane, label]) =>
    button(label, () => go({ pane, node: "" }), {
      role: "tab",
      id: `pane-${pane}`,
      "aria-controls": "pane",
      "aria-selected": String(pane === state.pane),
    }),
  );
  return h("div", { class: "tabs", role: "tablist", "aria-label": "Of this item" }, made);
}

function about(item) {
  const facts = Object.entries(item.metadata ?? {}).filter(([, value]) => value !== null && value !== "");
  return [
    h("div", { class: "result-head" }, h("h2", { text: item.title || lastPart(item.source_ref || item.id) }), badges(item)),
    h("p", { class: "where" }, h("span", { class: "path", text: item.source_ref || item.id }), item.updated_at && h("span", { class: "led", text: fullDay(item.updated_at) })),
    facts.length > 0 && h("p", { class: "fine", text: facts.map(([name, value]) => `${name}: ${shortened(said(value), 60)}`).join(" · ") }),
  ];
}

const said = (value) => (Array.isArray(value) ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value));

/** Items whose meaning is near, the nearest first. */
function similar(results) {
  if (!results.length) return h("p", { class: "empty", text: "Nothing is similar." });
  const rows = results.map((result) => {
    const near = h("span", { class: "meter", "aria-hidden": "true" }, h("span", {}));
    near.firstChild.style.width = `${100 * (result.similarity ?? result.score)}%`;
    return h(
      "li",
      { class: "result" },
      h("div", { class: "result-head" }, h("h3", {}, button(result.title || lastPart(result.path || result.node_id), () => openItem(result.node_id), { class: "title" })), badges(result)),
      h("p", { class: "where" }, h("span", { class: "path", text: place(result.path || result.node_id) }), near, h("span", { class: "led", text: (result.similarity ?? result.score).toFixed(2) })),
      h("p", { class: "snippet", text: shortened(result.content.replace(FRONT_MATTER, "").replace(/\s+/g, " "), 240) }),
    );
  });
  return h("ol", { class: "results", "aria-label": "Similar items" }, rows);
}
