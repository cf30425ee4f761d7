/** The context that an agent would get for the question: its text, its tokens, and what was left out. */

import { isStopped, post } from "./api.js";
import { copyButton } from "./copying.js";
import { fill, h } from "./elements.js";
import { complain } from "./notice.js";
import { counted, count } from "./wording.js";

const LEAST = 250;
const MOST = 16000;
const PAUSE_MS = 250;

const choice = { max_length: 4000, format: "markdown" };
let shown = "";
let stop = null;
let timer = 0;

export function showContext(parent, state, filters) {
  if (!parent.firstChild) fill(parent, controls(() => ask(parent)), h("div", { class: "context" }));
  parent.state = { query: state.q.trim(), filters, include_history: state.history, unread: state.unread, scope: state.scope };
  ask(parent);
}

function controls(changed) {
  const number = h("input", { type: "number", min: LEAST, max: 1000000, step: LEAST, value: choice.max_length, "aria-label": "Most tokens" });
  const slider = h("input", { type: "range", min: LEAST, max: MOST, step: LEAST, value: choice.max_length, "aria-label": "Most tokens" });
  const set = (from, to) => {
    if (!(from.valueAsNumber >= 1)) return;
    choice.max_length = to.value = Math.round(from.valueAsNumber);
    changed();
  };
  slider.addEventListener("input", () => set(slider, number));
  number.addEventListener("input", () => set(number, slider));
  const formats = h("select", { on: { change: (event) => ((choice.format = event.target.value), changed()) } });
  formats.append(...["markdown", "xml", "json"].map((name) => h("option", { value: name, text: name })));
  return h("div", { class: "row controls" }, h("label", {}, "At most ", slider, number, " tokens"), h("label", {}, "as ", formats));
}

function ask(parent) {
  const { scope, query, unread, ...options } = parent.state;
  const body = { query, options: { ...options, ...choice, ...(unread.length && { unread }) } };
  const wanted = JSON.stringify([body, scope]);
  if (wanted === shown) return;
  shown = wanted;
  clearTimeout(timer);
  stop?.abort();
  stop = new AbortController();
  timer = setTimeout(load, PAUSE_MS, parent.lastChild, body, stop.signal);
}

async function load(parent, body, signal) {
  parent.setAttribute("aria-busy", "true");
  try {
    fill(parent, contextText(await post("retrieval/context", body, { signal })));
  } catch (error) {
    if (isStopped(error)) return;
    shown = "";
    complain(error);
  }
  parent.removeAttribute("aria-busy");
}

/** A context as it is shown, here and where there is no model to answer. */
export function contextText(context) {
  const used = h("span", { class: "meter", "aria-hidden": "true" }, h("span", {}));
  used.firstChild.style.width = `${(100 * context.token_count) / context.max_length}%`;
  const head = h(
    "div",
    { class: "row tokens" },
    h("b", { text: count(context.token_count) }),
    h("span", { text: `of ${counted(context.max_length, "token")}, ${counted(context.total_results, "result")}` }),
    used,
    copyButton(() => context.text),
  );
  return [
    head,
    context.notes?.length > 0 && h("p", { class: "fine", text: context.notes.join(" · ") }),
    h("pre", { class: "context-text", tabindex: "0", "aria-label": "The context", text: context.text }),
    context.left_out?.length > 0 && leftOut(context.left_out),
  ];
}

function leftOut(list) {
  const rows = list.map((each) => h("li", {}, h("span", { text: each.title || each.node_id }), h("span", { class: "fine", text: each.reason })));
  return h("details", { class: "left-out" }, h("summary", { text: `${counted(list.length, "passage was", "passages were")} left out or cut` }), h("ul", {}, rows));
}
