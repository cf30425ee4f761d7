/** Memories: a question to them, a form to remember something, and all of them on a time line, newest first. */

import { go } from "./address.js";
import { get, isStopped, remove } from "./api.js";
import { button, fill, h } from "./elements.js";
import { facts, forgetFacts } from "./facts.js";
import { complain, say } from "./notice.js";
import { memoryFacts, recallForm, showRecall } from "./recall.js";
import { rememberForm } from "./remember.js";
import { clock, day, month } from "./wording.js";

const PAGE = 40;
const TYPES = { "": "all", episodic: "what happened", semantic: "facts", procedural: "ways to do things", summary: "summaries" };

let parts = null;
let shown = null;
let type = "";
let mayWrite = true;
let stop = null;

/** Show a state of the address. */
export async function showMemories(parent, state) {
  parts ??= start(parent);
  if (document.activeElement !== parts.field) parts.field.value = state.recall;
  for (const radio of parts.types.querySelectorAll("input")) radio.checked = radio.value === state.type;
  const wanted = JSON.stringify([state.type, state.scope]);
  if (wanted === shown) return showRecall(parts.recalled, state, { forget: forgetButton });
  shown = wanted;
  type = state.type;
  const known = await facts();
  mayWrite = known.may_write !== false;
  fill(parts.remember, mayWrite && rememberForm(reload));
  showRecall(parts.recalled, state, { forget: forgetButton });
  reload();
}

function start(parent) {
  const { form, field } = recallForm();
  const recalled = h("div", { class: "recalled" });
  const line = h("div", { class: "time-line" });
  const types = h("fieldset", { class: "segments" }, h("legend", { class: "unseen", text: "Which" }));
  types.append(...Object.entries(TYPES).map(([value, label]) => h("label", {}, h("input", { type: "radio", name: "type", value }), h("span", { text: label }))));
  types.addEventListener("change", (event) => go({ type: event.target.value }));
  const remember = h("div", {});
  fill(parent, form, remember, recalled, h("div", { class: "section-head" }, h("h2", { text: "Time line" }), types), line);
  return { field, recalled, line, types, remember };
}

/** The newest again, after something came or went. */
function reload() {
  forgetFacts();
  stop?.abort();
  stop = new AbortController();
  const list = h("ol", { class: "months" });
  more(list, { before: null, signal: stop.signal }, (children) => fill(parts.line, children));
}

async function more(list, { before, signal }, show) {
  try {
    const page = await get("memories", { limit: PAGE, before, type: type || null }, { signal });
    const found = page.memories;
    if (!found.length && !list.children.length) return show([h("p", { class: "empty", text: "Nothing is remembered here yet." })]);
    place(list, found);
    const next = page.next && button("Show earlier", () => (next.remove(), more(list, { before: page.next, signal }, show)), { class: "plain" });
    show([list, next]);
  } catch (error) {
    if (!isStopped(error)) complain(error);
  }
}

/** Each under its month and its day, which go on where the page before ended. */
function place(list, found) {
  for (const memory of found) {
    const inMonth = under(list, "month", month(memory.at), (label) => h("li", { data: { of: label } }, h("h3", { text: label }), h("ol", { class: "days" })));
    const inDay = under(inMonth, "day", day(memory.at), (label) => h("li", { data: { of: label } }, h("h4", { text: label }), h("ol", { class: "moments" })));
    inDay.append(moment(memory));
  }
}

function under(list, level, label, make) {
  if (list.lastElementChild?.dataset.of !== label) list.append(make(label));
  return list.lastElementChild.lastElementChild;
}

function moment(memory) {
  const isOver = memory.historical || memory.superseded_by || memory.status === "superseded";
  return h(
    "li",
    { class: isOver ? "moment over" : "moment", data: { id: memory.id } },
    h("time", { datetime: memory.at, text: clock(memory.at) }),
    h("div", {}, memory.title && h("b", { text: memory.title }), h("p", { class: "told", text: memory.text }), memoryFacts(memory), forgetButton(memory.id)),
  );
}

/** Forgetting asks once more, in place. */
function forgetButton(id) {
  if (!mayWrite) return null;
  const holder = h("span", { class: "forget" });
  const ask = button("Forget", () => {
    fill(holder, h("span", { class: "fine", text: "Forget it for good?" }), yes, no);
    no.focus();
  }, { class: "plain" });
  const no = button("Keep it", () => (fill(holder, ask), ask.focus()), { class: "plain" });
  const yes = button("Forget it", () => forget(id), { class: "plain danger" });
  fill(holder, ask);
  return holder;
}

async function forget(id) {
  try {
    await remove(`memories/${encodeURIComponent(id)}`);
    say("It is forgotten.");
    document.querySelectorAll(`[data-id="${CSS.escape(id)}"]`).forEach((element) => element.remove());
    reload();
  } catch (error) {
    complain(error);
  }
}
