/** The plan: how the question was read and what the user chose, as chips that can be removed. */

import { button, h } from "./elements.js";
import { filterWords } from "./wording.js";

const FIELDS = ["kind", "status", "format"];

/** All chips of an answer. `change(changes)` asks again with another state; `hideIntent` is for what has no influence. */
export function chips({ state, analysis, routing, change, hiddenIntent, hideIntent }) {
  return [
    ...chosen(state, change),
    ...read(analysis, { state, change, hiddenIntent, hideIntent }),
    ...routed(routing, change),
    ...unread(state, change),
  ];
}

/** What is said of the plan in words. */
export function planNotes({ analysis, routing }) {
  const widened = (routing?.requests ?? []).filter((request) => request.answered_by !== "strict");
  return [
    ...(analysis?.notes ?? []),
    ...widened.map((request) => `nothing was found as strictly as it was read, so the search was widened: ${request.answered_by}`),
    routing?.note,
  ].filter(Boolean);
}

function chosen(state, change) {
  const filters = FIELDS.flatMap((field) =>
    state[field].map((value) => chip("chosen", `${field}: ${value}`, () => change({ [field]: state[field].filter((each) => each !== value) }))),
  );
  if (state.history) filters.push(chip("chosen", "with history", () => change({ history: false })));
  if (state.reach) filters.push(chip("chosen", "and what the graph leads to", () => change({ reach: false })));
  return filters;
}

function read(analysis, { state, change, hiddenIntent, hideIntent }) {
  if (!analysis) return [];
  const forget = (words) => () => change({ unread: [...state.unread, words] });
  const made = analysis.entities.map((entity) => {
    const title = `${entity.entity_id}, called “${entity.text}” (${entity.match})`;
    return chip("entity", entity.type && entity.type !== "entity" ? `${entity.name}, ${entity.type}` : entity.name, forget(entity.text), { title });
  });
  for (const said of analysis.filters) {
    const label = filterWords(said.filter);
    const title = said.used ? `read from “${said.words}”` : `read from “${said.words}”, but nothing passes it`;
    made.push(chip(said.used ? "said" : "said unused", label, forget(said.words), { title }));
  }
  if (analysis.query_type !== "general" && !hiddenIntent)
    made.unshift(chip("intent", `about: ${analysis.query_type}`, hideIntent, { title: "what the question is after" }));
  return made;
}

/** Where a router looks. Removing one of these looks everywhere. */
function routed(routing, change) {
  const labels = new Set();
  for (const request of routing?.requests ?? []) {
    request.source_types.forEach((type) => labels.add(`${type} only`));
    request.folders.forEach((folder) => labels.add(`likely in ${folder}/`));
    request.file_patterns.forEach((pattern) => labels.add(pattern));
  }
  const everywhere = () => change({ anywhere: true });
  return [...labels].map((label) => chip("routed", label, everywhere, { title: "read from the question; remove it to look everywhere" }));
}

function unread(state, change) {
  const made = dropped(state.unread, (left) => change({ unread: left }));
  if (state.anywhere) made.push(chip("dropped", "places", () => change({ anywhere: false }), { title: "looks everywhere", sign: "↺", verb: "Read again" }));
  return made;
}

/** Words that are not read as more, each of which can be read again; `change(left)` is told which are left. */
export function dropped(unread, change) {
  const again = (words) => () => change(unread.filter((each) => each !== words));
  return unread.map((words) => chip("dropped", words, again(words), { title: "not read as more than words", sign: "↺", verb: "Read again" }));
}

/** A chip, with a button where it can be removed. */
export function chip(kind, label, act, { title = "", sign = "×", verb = "Remove" } = {}) {
  return h(
    "li",
    { class: `chip ${kind}`, title: title || null },
    h("span", { text: label }),
    act && button(sign, act, { "aria-label": `${verb} ${label}`, title: `${verb} ${label}` }),
  );
}
