/** Labels of a drawn graph: level where there is room, each where it covers nothing; along the rays where there are many nodes. */

import { drawn } from "./elements.js";
import { lastPart, shortened } from "./wording.js";

const MOST_LEVEL = 22;
const LETTER_PX = 6.5;
const HEIGHT_PX = 14;
const AWAY_PX = 10;
const LEAST_LETTERS = 6;
const LONGEST = 30;

export const isCrowded = (places) => places.length > MOST_LEVEL;

/** A label for each place, in their order. `gap` is how far rings are from each other. */
export function labels(places, { width, gap }) {
  if (isCrowded(places)) return places.map((place) => (place.node.distance ? alongRay(place, { width, gap }) : level(place, below(place, shortened(nameOf(place), LONGEST)))));
  const taken = places.map((place) => ({ left: place.x - 7, right: place.x + 7, top: place.y - 7, bottom: place.y + 7 }));
  return places.map((place, own) => {
    const spots = choices(place, width);
    const free = spots.find((spot) => !taken.some((box, at) => at !== own && touch(box, spot.box))) ?? spots[0];
    taken.push(free.box);
    return level(place, free);
  });
}

/** The name of a section is its own part of it. */
function nameOf({ node }) {
  const name = node.title || lastPart(node.node_id);
  return node.node_type === "symbol" ? name.split(" > ").at(-1) : name === node.path ? lastPart(name) : name;
}

/** Where a level label may stand: outwards, inwards, below, above; shorter and shorter. */
function choices(place, width) {
  const name = nameOf(place);
  const isLeft = place.x < -1;
  const spots = [LONGEST, 18, 11].flatMap((letters) => {
    const text = shortened(name, letters);
    const sides = [beside(place, text, isLeft ? -1 : 1), beside(place, text, isLeft ? 1 : -1)];
    return place.node.distance ? [...sides, below(place, text), below(place, text, -1)] : [below(place, text), below(place, text, -1), ...sides];
  });
  const inside = spots.filter(({ box }) => box.left > -width / 2 && box.right < width / 2);
  return inside.length ? inside : spots.slice(-4);
}

function beside(place, text, side) {
  const start = place.x + side * AWAY_PX;
  const end = start + side * text.length * LETTER_PX;
  return { text, x: side * AWAY_PX, y: 0, anchor: side < 0 ? "end" : "start", box: boxOf(Math.min(start, end), Math.max(start, end), place.y) };
}

function below(place, text, side = 1) {
  const half = (text.length * LETTER_PX) / 2;
  return { text, x: 0, y: side * 19, anchor: "middle", box: boxOf(place.x - half, place.x + half, place.y + side * 19) };
}

const boxOf = (left, right, middle) => ({ left, right, top: middle - HEIGHT_PX / 2, bottom: middle + HEIGHT_PX / 2 });
const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function level(place, { text, x, y, anchor }) {
  return drawn("text", { class: "label", dy: "0.32em", x, y, "text-anchor": anchor, text });
}

function alongRay(place, { width, gap }) {
  const isLeft = Math.cos(place.angle) < -1e-6;
  const room = place.children.length ? gap - 2 * AWAY_PX : width / 2 - Math.hypot(place.x, place.y) - AWAY_PX;
  const text = shortened(nameOf(place), Math.max(LEAST_LETTERS, Math.floor(room / LETTER_PX)));
  const turn = (place.angle * 180) / Math.PI + (isLeft ? 180 : 0);
  return drawn("text", { class: "label", dy: "0.32em", x: isLeft ? -AWAY_PX : AWAY_PX, "text-anchor": isLeft ? "end" : "start", transform: `rotate(${turn})`, text });
}
