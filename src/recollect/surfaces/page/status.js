/** How the service and the store stand, and what searches take. */

import { button, fill, h } from "./elements.js";
import { facts, forgetFacts } from "./facts.js";
import { count, milliseconds } from "./wording.js";

export async function showStatus(parent) {
  forgetFacts();
  const known = await facts();
  if (!known.version) return fill(parent, h("p", { class: "empty", text: "Nothing is known: the service does not answer." }));
  const again = button("Look again", () => showStatus(parent), { class: "plain" });
  fill(parent, h("div", { class: "status" }, h("div", { class: "section-head" }, h("h1", { text: "Status" }), again), h("div", { class: "cards" }, held(known), kinds(known), service(known), searches(known.metrics)), stages(known.metrics)));
}

function held(known) {
  return card("The store", [
    ["Kept in", known.store],
    ["Scope", known.scope],
    ["Items", count(known.items)],
    ["Passages", count(known.chunks)],
    ["Edges", count(known.edges)],
    ["Entities", count(known.entities)],
    ["Not yet indexed", count(known.pending)],
  ]);
}

function kinds(known) {
  const rows = Object.entries(known.kinds).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return rows.length > 0 && card("Kinds", rows.map(([kind, number]) => [kind, count(number)]));
}

function service(known) {
  return card("The service", [
    ["Version", known.version],
    ["You are", known.caller],
    ["You may", known.may_write ? "read and write" : "read"],
    ["Embedding model", known.model ?? "none"],
    ["Vectors", known.vector_index],
    ["Profile", known.profile],
    ["Language model", known.has_llm ? "set" : "none"],
  ]);
}

function searches(metrics) {
  return card("Searches", [
    ["So far", count(metrics.queries)],
    ["On average", milliseconds(metrics.avg_retrieval_time)],
    ["95 of 100 within", milliseconds(metrics.p95_retrieval_time)],
    ["Results", metrics.avg_results.toFixed(1)],
    ["Answered from the cache", `${Math.round(100 * metrics.cache_hit_rate)} %`],
  ]);
}

function card(title, rows) {
  const list = rows.filter(([, value]) => value !== undefined).map(([name, value]) => h("div", {}, h("dt", { text: name }), h("dd", { text: value })));
  return h("section", { class: "card" }, h("h2", { text: title }), h("dl", {}, list));
}

/** What each stage took, as bars on one scale. */
function stages(metrics) {
  const rows = Object.entries(metrics.stages).sort((a, b) => b[1].average_ms - a[1].average_ms);
  if (!rows.length) return null;
  const most = Math.max(...rows.map(([, stage]) => stage.p95_ms), 0.001);
  const body = rows.map(([name, stage]) => {
    const meter = h("span", { class: "meter", "aria-hidden": "true" }, h("span", {}));
    meter.firstChild.style.width = `${(100 * stage.average_ms) / most}%`;
    return h("tr", {}, h("th", { scope: "row", text: name.replaceAll("_", " ") }), h("td", {}, meter), h("td", { text: milliseconds(stage.average_ms) }), h("td", { text: milliseconds(stage.p95_ms) }), h("td", { text: count(stage.count) }));
  });
  const head = h("tr", {}, ["Stage", "", "Average", "95 of 100", "Times"].map((name) => h("th", { text: name })));
  return h("section", { class: "card" }, h("h2", { text: "Where the time goes" }), h("table", { class: "stages" }, h("thead", {}, head), h("tbody", {}, body)));
}
