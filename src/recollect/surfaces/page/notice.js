/** One calm line at the bottom: what went wrong, or what was done. */

import { button, byId, fill, h } from "./elements.js";

const SHOWN_MS = 6000;
let timer = 0;

/** Say something for a while; what went wrong stays until it is put away. */
export function say(text, { wrong = false } = {}) {
  clearTimeout(timer);
  const notice = byId("notice");
  fill(notice, h("span", { text }), button("×", hush, { class: "quiet", "aria-label": "Put this away" }));
  notice.classList.toggle("wrong", wrong);
  notice.title = "";
  notice.hidden = false;
  if (!wrong) timer = setTimeout(hush, SHOWN_MS);
}

export function hush() {
  clearTimeout(timer);
  byId("notice").hidden = true;
}

/** Say what went wrong. */
export function complain(error) {
  const line = error.message.trim();
  say(`${line[0]?.toUpperCase() ?? ""}${line.slice(1)}${/[.?!]$/.test(line) ? "" : "."}`, { wrong: true });
  if (error.requestId) byId("notice").title = `request ${error.requestId}`;
}
