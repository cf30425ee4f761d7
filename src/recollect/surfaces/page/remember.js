/** A small form to remember something. */

import { post } from "./api.js";
import { fill, h } from "./elements.js";
import { complain, say } from "./notice.js";

const FIELDS = {
  episodic: { text: "What happened" },
  semantic: { subject: "About whom or what", predicate: "What is said of it, such as prefers", object: "The value" },
  procedural: { trigger: "When", action: "What is done then" },
  summary: { text: "What it comes to" },
};
const LABELS = { episodic: "something that happened", semantic: "a fact", procedural: "a way to do something", summary: "a summary" };
const OUTCOMES = { added: "Remembered.", changed: "Changed.", reinforced: "That was known; it counts a little more now.", "kept as history": "Kept as history: something newer is known." };

/** `done()` is called when something was remembered. */
export function rememberForm(done) {
  const type = h("select", { name: "type" });
  type.append(...Object.entries(LABELS).map(([value, label]) => h("option", { value, text: label })));
  const own = h("div", { class: "own" });
  const entities = h("input", { name: "entities", placeholder: "optional, with commas between them" });
  const at = h("input", { name: "at", type: "datetime-local" });
  const form = h(
    "form",
    { class: "remember" },
    h("label", {}, "Remember ", type),
    own,
    h("label", {}, "Whom and what it is about ", entities),
    h("label", {}, "When it was ", at),
    h("div", { class: "row" }, h("button", { class: "main", text: "Remember" })),
  );
  const showOwn = () => fill(own, Object.entries(FIELDS[type.value]).map(([name, label]) => field(name, label)));
  type.addEventListener("change", showOwn);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, done).catch(complain);
  });
  showOwn();
  return h("details", { class: "fold" }, h("summary", { text: "Remember something" }), form);
}

function field(name, label) {
  const input = name === "text" ? h("textarea", { name, rows: 3, required: true }) : h("input", { name, required: true });
  return h("label", {}, `${label} `, input);
}

async function send(form, done) {
  const given = Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));
  if (given.entities) given.entities = given.entities.split(",").map((name) => name.trim()).filter(Boolean);
  if (given.at) given.at = new Date(given.at).toISOString();
  const { outcome } = await post("memories", given);
  say(OUTCOMES[outcome] ?? "Remembered.");
  form.querySelectorAll(".own input, .own textarea").forEach((input) => (input.value = ""));
  done();
}
