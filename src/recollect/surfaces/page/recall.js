/** A question to memory: what is recalled, by which signals and why, how it was understood, and the prompt. */

import { go, state as current } from "./address.js";
import { isStopped, post } from "./api.js";
import { chip, dropped } from "./chips.js";
import { copyButton } from "./copying.js";
import { fill, h } from "./elements.js";
import { complain } from "./notice.js";
import { signalBars } from "./signals.js";
import { count, counted, fullDay } from "./wording.js";

let shown = "";
let stop = null;

export function recallForm() {
  const field = h("input", { type: "search", id: "recall", placeholder: "Ask memory", "aria-label": "Question to memory", autocomplete: "off", maxlength: 2000 });
  const form = h("form", { class: "ask", role: "search" }, h("div", { class: "field" }, field), h("button", { class: "main", text: "Recall" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go({ recall: field.value.trim(), untold: [] });
  });
  field.addEventListener("input", () => field.value || go({ recall: "", untold: [] }));
  return { form, field };
}

/** What a state of the address asks. `forget(id)` is a button. */
export function showRecall(parent, state, { forget }) {
  const wanted = state.recall ? JSON.stringify([state.recall, state.untold, state.scope]) : "";
  if (wanted === shown) return;
  shown = wanted;
  stop?.abort();
  if (!wanted) return fill(parent);
  stop = new AbortController();
  load(parent, state, { signal: stop.signal, forget });
}

async function load(parent, { recall: query, untold: unread }, { signal, forget }) {
  parent.setAttribute("aria-busy", "true");
  try {
    fill(parent, recalled(await post("memories/recall", { query, unread }, { signal }), { unread, forget }));
  } catch (error) {
    if (isStopped(error)) return;
    shown = "";
    complain(error);
  }
  if (current().recall === query) parent.removeAttribute("aria-busy");
}

function recalled(answer, { unread, forget }) {
  const list = answer.memories.map((memory) => remembered(memory, forget));
  return [
    h("ul", { class: "chips", "aria-label": "How the question was read" }, plan(answer.query, unread)),
    answer.notes.length + answer.query.notes.length > 0 && h("p", { class: "fine", text: [...answer.query.notes, ...answer.notes].join(" · ") }),
    h("p", { class: "fine", role: "status", text: list.length ? `${counted(list.length, "memory", "memories")} of ${count(answer.candidates)} looked at` : "Nothing was recalled" }),
    h("ol", { class: "results" }, list),
    answer.domain?.tables.map(table),
    promptOf(answer),
  ];
}

/** How the question was understood. What is read from its words can be removed. */
function plan({ query_type: type, strategy, time_range: range, entities, entity_types: types, ambiguities }, unread) {
  const span = range && [range.start && fullDay(range.start), fullDay(range.end)].filter(Boolean).join(" to ");
  const leave = (words) => () => go({ untold: [...unread, words] });
  const chips = [
    ["intent", `about: ${type.category}`, null, `ranked as ${strategy.replaceAll("_", " ")}`],
    range && ["said", span, leave(range.words), `read from “${range.words}”`],
    ...entities.map((entity) => ["entity", `${entity.name}, ${entity.type}`, leave(entity.mention_text), `${entity.canonical_id}, called “${entity.mention_text}” (${entity.match})`]),
    ...types.map((name) => ["entity", `any ${name}`, null, ""]),
    ...ambiguities.map((each) => ["said unused", `${each.mention_text}?`, leave(each.mention_text), `may be ${each.candidates.join(" or ")}`]),
    type.requires_domain_db && ["routed", "current data", null, "asks for what the domain database has"],
  ];
  const read = chips.filter(Boolean).map(([kind, label, act, title]) => chip(kind, label, act, { title }));
  return [...read, ...dropped(unread, (left) => go({ untold: left }))];
}

function remembered(memory, forget) {
  return h(
    "li",
    { class: memory.historical ? "result memory over" : "result memory", data: { id: memory.id } },
    h("p", { class: "fine" }, h("time", { datetime: memory.at, text: fullDay(memory.at) }), memory.title && ` · ${memory.title}`),
    h("p", { class: "told", text: memory.text }),
    memoryFacts(memory),
    signalBars(memory.signals, memory.weights),
    h("p", { class: "why", text: memory.why }),
    h("div", { class: "actions" }, forget(memory.id)),
  );
}

/** The type, whom it is about, how much it matters, and whether it still holds. */
export function memoryFacts(memory) {
  const isOver = memory.historical || memory.superseded_by || memory.status === "superseded";
  return h(
    "p",
    { class: "about" },
    h("span", { class: `badge type-${memory.type}`, text: memory.type }),
    isOver && h("span", { class: "badge status-superseded", text: memory.superseded_by ? `superseded by ${memory.superseded_by}` : "superseded" }),
    (memory.entities ?? []).map((entity) => h("span", { class: "entity", text: entity })),
    h("span", { class: "fine", text: `importance ${memory.importance.toFixed(1)}${memory.use_count ? ` · used ${memory.use_count}×` : ""}` }),
  );
}

function table({ table: name, about, rows, truncated }) {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const head = h("tr", {}, columns.map((column) => h("th", { text: column })));
  const body = rows.map((row) => h("tr", {}, columns.map((column) => h("td", { text: row[column] ?? "" }))));
  return h("figure", { class: "domain" }, h("figcaption", { text: `${name}: ${about}${truncated ? ", and more" : ""}` }), h("table", {}, h("thead", {}, head), h("tbody", {}, body)));
}

function promptOf(answer) {
  const head = h("div", { class: "row tokens" }, h("b", { text: count(answer.token_count) }), h("span", { text: `of ${counted(answer.max_tokens, "token")}` }), copyButton(() => answer.prompt));
  const text = h("pre", { class: "context-text", tabindex: "0", "aria-label": "The prompt", text: answer.prompt });
  const skipped = answer.skipped.map((each) => h("li", {}, h("span", { text: each.id }), h("span", { class: "fine", text: each.reason })));
  return h(
    "details",
    { class: "prompt" },
    h("summary", { text: "The prompt that an agent would get" }),
    head,
    text,
    skipped.length > 0 && h("details", { class: "left-out" }, h("summary", { text: `${counted(skipped.length, "memory was", "memories were")} left out` }), h("ul", {}, skipped)),
  );
}
