/** Elements made of plain data: whatever comes from the server becomes text here, never markup. */

const SVG = "http://www.w3.org/2000/svg";

/** An element. Attributes: `class`, `text`, `on` (listeners by event), `data`, booleans as properties, all else as it is. */
export function h(tag, attributes = {}, ...children) {
  return made(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function drawn(tag, attributes = {}, ...children) {
  return made(document.createElementNS(SVG, tag), attributes, children);
}

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

/** Put these children in place of what is there. */
export function fill(parent, ...children) {
  parent.replaceChildren(...present(children));
  return parent;
}

function present(children) {
  return children.flat(3).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
}

export const byId = (id) => document.getElementById(id);

/** A button that does one thing. */
export function button(label, act, attributes = {}) {
  return h("button", { type: "button", ...attributes, on: { click: act } }, label);
}

/** A text with these spans marked. Spans count characters as the server does, where an emoji is one. */
export function marked(text, spans) {
  const characters = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
  const part = (start, end) => (characters ? characters.slice(start, end).join("") : text.slice(start, end));
  const pieces = [];
  let at = 0;
  for (const [start, end] of [...spans].sort((a, b) => a[0] - b[0])) {
    if (start < at || end <= start) continue;
    pieces.push(part(at, start), h("mark", { text: part(start, end) }));
    at = end;
  }
  pieces.push(part(at));
  return pieces;
}

/** The words that are marked in some results: those of the question, in the forms in which they occur. */
export function markedWords(sources) {
  const words = new Set();
  for (const { snippet, snippet_marks: marks } of sources) {
    const characters = Array.from(snippet ?? "");
    for (const [start, end] of marks ?? []) words.add(characters.slice(start, end).join("").toLowerCase());
  }
  return words;
}

/** A text with these words marked wherever they stand by themselves. */
export function withWords(text, words) {
  const known = [...words].filter((word) => word.trim()).sort((a, b) => b.length - a.length);
  if (!known.length) return [text];
  const any = known.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("|");
  const pieces = text.split(new RegExp(`(?<![\\p{L}\\p{N}])(${any})(?![\\p{L}\\p{N}])`, "giu"));
  return pieces.map((piece, place) => (place % 2 ? h("mark", { text: piece }) : piece));
}
