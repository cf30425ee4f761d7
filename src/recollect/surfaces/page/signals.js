/** Bars of what speaks for a result or a memory, each part labelled. */

import { h } from "./elements.js";
import { share } from "./wording.js";

const ROUTES = { text: "words", vector: "meaning", symbol: "name", graph: "graph" };

const LEAST_SHARE = 0.02;

/** The parts of a score as one bar: as long as the score is of the best one's, divided by what each part gave. */
export function scoreBar(why, score, best) {
  const whole = why.parts.reduce((sum, part) => sum + Math.abs(part.contribution), 0);
  const parts = why.parts.filter((part) => Math.abs(part.contribution) > LEAST_SHARE * whole);
  if (!parts.length) return null;
  const bar = h("div", { class: "bar", "aria-hidden": "true" });
  const length = best > 0 ? Math.max(0.04, Math.min(1, score / best)) : 1;
  for (const part of parts) {
    const piece = h("span", { class: `part ${tone(part)}`, title: said(part) });
    piece.style.width = `${(100 * length * Math.abs(part.contribution)) / whole}%`;
    bar.append(piece);
  }
  const legend = h("ul", { class: "legend", "aria-label": "What the score is made of" });
  legend.append(...parts.map((part) => h("li", {}, h("i", { class: tone(part), "aria-hidden": "true" }), said(part))));
  return h("div", { class: "signals" }, bar, legend);
}

const tone = (part) => `tone-${ROUTES[part.route] ?? (part.contribution < 0 ? "less" : "factor")}`;

/** A route with what it adds; a factor with what it multiplies by. */
function said(part) {
  const name = ROUTES[part.route] ?? part.route;
  return part.rank ? `${name} ${share(part.contribution)}` : `${name} ×${Number(part.score.toFixed(2))}`;
}

const SIGNALS = {
  semantic_similarity: "fit",
  entity_overlap: "entities",
  temporal_relevance: "time",
  importance: "importance",
  reinforcement: "use",
};

/** The five signals of a memory, each as a bar of its own from 0 to 1, fainter where it counts less. */
export function signalBars(signals, weights) {
  const rows = Object.entries(SIGNALS).map(([name, label]) => {
    const value = signals[name] ?? 0;
    const meter = h("span", { class: "meter", "aria-hidden": "true" }, h("span", {}));
    meter.firstChild.style.width = `${100 * value}%`;
    meter.firstChild.style.opacity = 0.35 + 0.65 * Math.min(1, 2 * (weights[name] ?? 0));
    return h("div", { title: `counts ${share(weights[name] ?? 0)}` }, h("dt", { text: label }), h("dd", {}, meter, share(value)));
  });
  return h("dl", { class: "five" }, rows);
}
