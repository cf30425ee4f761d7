/** The first screen: what is in the store, and what can be asked. */

import { button, fill, h } from "./elements.js";
import { facts } from "./facts.js";
import { count, counted } from "./wording.js";

const WAYS = [
  ["Plain words or a question", "found by its words and by its meaning"],
  ['"two words"', "must occur side by side"],
  ["-word", "must not occur"],
  ["Store.write, src/app.py, 0x80070005", "a name is looked up as one"],
  ["approved designs after 2024", "status, kind and time become filters, where the store has such"],
];

/** `narrow(changes)` looks at one kind only. */
export async function showHome(parent, narrow) {
  const known = await facts();
  if (known.items === undefined) return fill(parent);
  return fill(parent, h("div", { class: "home" }, holdings(known, narrow), ways()));
}

function holdings(known, narrow) {
  const kinds = Object.entries(known.kinds ?? {}).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const total = known.items;
  if (!total) return h("section", {}, h("h2", { text: "Nothing is here yet" }), h("p", {}, "Fill the store: ", h("code", { text: "recollect index docs" })));
  const list = kinds.map(([kind, number]) =>
    h("li", {}, button([h("b", { text: count(number) }), ` ${kind}`], () => narrow({ kind: [kind] }), { class: "holding", title: `Search ${kind} only` })),
  );
  const beside = [counted(known.chunks ?? 0, "passage"), counted(known.edges ?? 0, "edge"), counted(known.entities ?? 0, "entity", "entities")];
  return h("section", {}, h("h2", { text: `${counted(total, "item")}` }), h("ul", { class: "holdings" }, list), h("p", { class: "fine", text: beside.join(" · ") }));
}

function ways() {
  const rows = WAYS.map(([way, meaning]) => h("div", {}, h("dt", {}, h("code", { text: way })), h("dd", { text: meaning })));
  return h("section", {}, h("h2", { text: "What can be asked" }), h("dl", { class: "ways" }, rows), h("p", { class: "fine" }, "Keys: press ", h("kbd", { text: "?" })));
}
