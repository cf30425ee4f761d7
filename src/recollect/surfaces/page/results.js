/** Sources as they are listed: what each is, where, why it is there, and the evidence in it. */

import { button, h, marked, withWords } from "./elements.js";
import { scoreBar } from "./signals.js";
import { counted, lastPart, lines, place, shortened } from "./wording.js";

const SHOWN_PASSAGES = 2;

/** The list of sources. `open(source, pane, lines)` shows one beside the list. */
export function resultList(sources, { open }) {
  const best = Math.max(...sources.map((source) => source.score), 0);
  return sources.map((source) => result(source, { open, best }));
}

function result(source, { open, best }) {
  const title = nameOf(source);
  const spot = lines(source.line_start, source.line_end);
  return h(
    "li",
    { class: source.historical ? "result historical" : "result", data: { id: source.item_id } },
    h(
      "div",
      { class: "result-head" },
      h("h3", {}, button(title, () => open(source.item_id, "text", spot), { class: "title" })),
      badges(source),
    ),
    whereabouts(source, () => open(source.item_id, "text", spot)),
    source.snippet && title !== source.snippet && h("p", { class: source.kind === "code" ? "snippet code" : "snippet" }, marked(source.snippet, source.snippet_marks ?? [])),
    h("div", { class: "passages" }),
    scoreBar(source.why, source.score, best),
    h("p", { class: "why", text: sentence(source.why.sentence) }),
    h(
      "div",
      { class: "actions" },
      button("Open", () => open(source.item_id, "text", spot), { class: "plain", "aria-label": `Open ${title}` }),
      button("Graph", () => open(source.item_id, "graph", spot), { class: "plain", "aria-label": `Graph around ${title}` }),
      button("Similar", () => open(source.item_id, "similar", spot), { class: "plain", "aria-label": `Similar to ${title}` }),
    ),
  );
}

/** What a result is called. Memories have no name but what they say. */
function nameOf({ title, source_ref: path, snippet, item_id: id }) {
  return title || (path && lastPart(path)) || (snippet && shortened(snippet.trim(), 100)) || id;
}

const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "");

/** The kind, the status and the version of something, small. */
export function badges({ kind, node_type: type, status, version, historical, superseded_by: successor }) {
  const what = kind ?? type;
  const isHistory = historical || successor;
  return h(
    "span",
    { class: "badges" },
    what && h("span", { class: "badge", text: what }),
    status && status !== "draft" && h("span", { class: `badge status-${status}`, text: status }),
    version && h("span", { class: "badge", text: `version ${version}` }),
    isHistory && status !== "superseded" && status !== "archived" && h("span", { class: "badge status-superseded", text: "history" }),
  );
}

/** The file and the lines, what led there, and what took its place. */
function whereabouts(source, open) {
  const path = source.source_ref ? place(source.source_ref, source.line_start, source.line_end) : source.item_id;
  return h(
    "p",
    { class: "where" },
    button(path, open, { class: "path" }),
    source.symbol && h("span", { class: "symbol", text: source.symbol }),
    source.distance > 0 && h("span", { class: "led", text: `${counted(source.distance, "step")} away: ${steps(source.via)}` }),
    source.superseded_by && h("span", { class: "led", text: `superseded by ${source.superseded_by}` }),
    source.duplicates?.length > 0 && h("span", { class: "led", title: source.duplicates.join("\n"), text: `${source.duplicates.length} nearly the same` }),
  );
}

export const steps = (via) => via.map((edge) => `${edge.source} ${edge.type} ${edge.target}`).join(", then ");

/** Put the evidence under its sources, once it has come. */
export function showEvidence(list, evidence, { open, words }) {
  const byItem = Map.groupBy(evidence, (chunk) => chunk.item_id);
  for (const element of list.children) {
    const chunks = byItem.get(element.dataset.id) ?? [];
    const shown = element.querySelector(".snippet")?.textContent ?? "";
    element.querySelector(".passages")?.replaceChildren(...passages(chunks, { open, words, shown }));
  }
}

function passages(chunks, { open, words, shown }) {
  const made = chunks.map((chunk) => passage(chunk, { open, words, shown }));
  const rest = made.splice(SHOWN_PASSAGES);
  if (!rest.length) return made;
  const more = button(`${counted(rest.length, "more passage")}`, () => more.replaceWith(...rest), { class: "plain more-passages" });
  return [...made, more];
}

/** A piece of evidence: its lines and headings, and its text when it is unfolded. */
function passage(chunk, { open, words, shown }) {
  const { line_start: first, line_end: last, symbol } = chunk.anchors ?? {};
  const spot = lines(first, last);
  const isNew = !chunk.text.includes(shown.trim().slice(0, 60));
  const under = symbol || (chunk.heading_path ?? []).at(-1) || "";
  return h(
    "details",
    { class: "passage" },
    h(
      "summary",
      {},
      h("span", { class: "spot", text: spot ? `${first === last ? "line" : "lines"} ${spot.replace("-", "–")}` : "passage" }),
      under && h("span", { class: "under", text: under }),
      isNew && h("span", { class: "glimpse", text: shortened(chunk.text.replace(/\s+/g, " ").trim(), 200) }),
    ),
    (chunk.heading_path?.length ?? 0) > 1 && h("p", { class: "fine", text: chunk.heading_path.join(" › ") }),
    h("pre", { class: "passage-text" }, withWords(chunk.text, words)),
    chunk.context?.length > 0 && surroundings(chunk.context, open),
    button("Open at these lines", () => open(chunk.item_id, "text", spot), { class: "plain" }),
  );
}

/** What a reader of a passage needs beside it. */
function surroundings(context, open) {
  const rows = context.map((span) =>
    h(
      "li",
      {},
      h("span", { class: "fine", text: `${span.label} ` }),
      button(place(span.source_ref || span.item_id, span.line_start, span.line_end), () => open(span.item_id, "text", lines(span.line_start, span.line_end)), {
        class: "path",
      }),
      h("code", { text: shortened(span.text.split("\n")[0], 120) }),
    ),
  );
  return h("ul", { class: "beside", "aria-label": "Beside it" }, rows);
}
