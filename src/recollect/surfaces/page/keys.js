/** The keyboard: one letter each, never while somebody writes. */

import { go, openItem, state } from "./address.js";
import { byId } from "./elements.js";
import { closePanel } from "./panel.js";

const WRITES = "input:not([type=radio], [type=checkbox], [type=range]), textarea, select";

export function startKeys() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const act = event.target.matches?.(WRITES) ? whileWriting(event) : KEYS[event.key];
    if (act?.(event) === false) return;
    if (act) event.preventDefault();
  });
}

/** In the question, down leads to the results and Esc out of the field. */
function whileWriting(event) {
  if (event.key === "Escape") return () => event.target.blur();
  if (event.key === "ArrowDown" && event.target.id === "q") return () => step(1);
  return null;
}

const KEYS = {
  "/": () => (state().view === "memories" ? byId("recall") : (go({ view: "search" }), byId("q"))).select(),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  j: () => step(1),
  k: () => step(-1),
  g: () => pane("graph"),
  s: () => pane("similar"),
  r: () => tab("results"),
  c: () => tab("context"),
  a: () => tab("ask"),
  Escape: () => (state().item ? closePanel() : document.activeElement.blur()),
  "?": () => byId("keys").showModal(),
};

/** The next or the previous result; `false` where there is none, so that the key does what it always does. */
function step(by) {
  const titles = [...document.querySelectorAll("#results .title")].filter((title) => title.checkVisibility());
  if (!titles.length || byId("panel").contains(document.activeElement) && !by) return false;
  const at = titles.findIndex((title) => title.closest(".result").contains(document.activeElement));
  if (by < 0 && at <= 0) return at < 0 ? false : byId("q").select();
  const next = titles[at < 0 ? openedAt(titles, by) : Math.min(at + by, titles.length - 1)];
  next.focus({ preventScroll: true });
  next.closest(".result").scrollIntoView({ block: "nearest" });
  return true;
}

/** From the panel one goes on behind the result that it shows. */
function openedAt(titles, by) {
  const opened = titles.findIndex((title) => title.closest(".result").dataset.id === state().item);
  return opened < 0 || document.activeElement.id === "q" ? 0 : Math.max(0, Math.min(titles.length - 1, opened + by));
}

function pane(name) {
  const item = document.activeElement.closest?.("#results .result")?.dataset.id ?? state().item;
  return item ? openItem(item, name) : false;
}

const tab = (name) => (state().view === "search" && state().q ? go({ tab: name }) : false);
