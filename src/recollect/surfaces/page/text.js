/** A text with its line numbers, the wanted lines in sight and tinted, and the rest around them on demand. */

import { button, fill, h, withWords } from "./elements.js";
import { counted } from "./wording.js";

const AROUND = 30;
const STEP = 200;

let redraw = () => {};

/** Mark the words again, which came after the text did. */
export const redrawText = () => redraw();

/** `lines` such as `10-40` are shown with what is around them; all of it is there at the press of a button. */
export function showText(parent, item, { lines, words }) {
  const all = item.text.split(/\r\n|[\n\r]/);
  if (all.length > 1 && !all.at(-1)) all.pop(); // The end of the last line begins no other one.
  const [first, last] = range(lines, all.length);
  const shown = first ? [Math.max(1, first - AROUND), Math.min(all.length, Math.max(last, first) + AROUND)] : [1, Math.min(all.length, STEP)];
  const body = h("div", { class: item.format === "code" ? "text code" : "text", tabindex: "0", role: "region", "aria-label": "Text" });
  const draw = () => {
    const known = words();
    const rows = all.slice(shown[0] - 1, shown[1]).map((text, place) => row(shown[0] + place, text, { first, last, words: known }));
    fill(
      body,
      shown[0] > 1 && more(`${counted(shown[0] - 1, "line")} above`, () => ((shown[0] = Math.max(1, shown[0] - STEP)), draw())),
      h("div", { class: "lines" }, rows),
      shown[1] < all.length && more(`${counted(all.length - shown[1], "line")} below`, () => ((shown[1] = Math.min(all.length, shown[1] + STEP)), draw())),
    );
  };
  draw();
  redraw = () => body.isConnected && draw();
  fill(parent, body);
  body.querySelector(".wanted")?.scrollIntoView({ block: "center" });
}

function range(lines, most) {
  const [first, last = first] = lines.split("-").map(Number);
  return first >= 1 && first <= most ? [first, Math.min(last || first, most)] : [0, 0];
}

function row(number, text, { first, last, words }) {
  const isWanted = number >= first && number <= last;
  return h("div", { class: isWanted ? "line wanted" : "line" }, h("span", { class: "at", text: number, "aria-hidden": "true" }), h("span", { class: "said" }, withWords(text, words)));
}

const more = (label, act) => button(label, act, { class: "plain more-lines" });
