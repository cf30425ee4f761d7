/** Filters with counts: which values occur among the hits, each to be ticked. */

import { button, fill, h } from "./elements.js";
import { count } from "./wording.js";

const FIELDS = { kind: "Kind", status: "Status", format: "Format" };
const SHOWN = 8;
const WIDE = matchMedia("(min-width: 70rem)");

/** What was counted, by field, when that field was not filtered: so that the other values stay in sight once one is ticked. */
let known = {};

/** Keep the counts of an answer. A field that is filtered keeps those from before. */
export function learn(facets, state) {
  for (const field of Object.keys(FIELDS)) {
    if (state[field].length) known[field] = { ...known[field], ...facets[field] };
    else known[field] = facets[field] ?? {};
  }
}

export const unlearn = () => (known = {});

/** The boxes. `change(changes)` asks again with another state. */
export function showFilters(parent, state, change) {
  const groups = Object.entries(FIELDS).map(([field, label]) => group(field, label, state, change));
  const body = h("div", { class: "groups" }, groups, also(state, change));
  const wasOpen = parent.querySelector("details")?.open;
  const active = Object.keys(FIELDS).reduce((sum, field) => sum + state[field].length, 0);
  const folded = h("details", { open: wasOpen ?? (WIDE.matches && !document.body.classList.contains("beside-panel")) }, h("summary", { text: active ? `Filters (${active})` : "Filters" }), body);
  const focused = parent.contains(document.activeElement) ? document.activeElement.value : null;
  fill(parent, folded);
  if (focused) parent.querySelector(`input[value="${CSS.escape(focused)}"]`)?.focus();
}

/** Beside a panel there is less room: the boxes are folded, and unfolded again without it. */
export function foldFilters(parent, isFolded) {
  const folded = parent.querySelector("details");
  if (folded) folded.open = !isFolded && WIDE.matches;
}

function group(field, label, state, change) {
  const values = { ...known[field] };
  state[field].forEach((value) => (values[value] ??= 0));
  const sorted = Object.entries(values).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  if (sorted.length < 2 && !state[field].length) return null;
  const toggle = (value, on) => change({ [field]: on ? [...state[field], value] : state[field].filter((each) => each !== value) });
  const boxes = sorted.map(([value, number]) => box(value, number, state[field].includes(value), (on) => toggle(value, on)));
  const rest = boxes.splice(SHOWN);
  const more = rest.length > 0 && button(`${rest.length} more`, () => more.replaceWith(...rest), { class: "plain" });
  return h("fieldset", {}, h("legend", { text: label }), boxes, more);
}

function box(value, number, checked, act) {
  const input = h("input", { type: "checkbox", value, checked, on: { change: () => act(input.checked) } });
  return h("label", {}, input, h("span", { text: value }), number !== null && h("span", { class: "number", text: count(number) }));
}

function also(state, change) {
  return h(
    "fieldset",
    {},
    h("legend", { text: "Also show" }),
    box("history", null, state.history, (on) => change({ history: on })),
    box("the graph around", null, state.reach, (on) => change({ reach: on })),
  );
}
