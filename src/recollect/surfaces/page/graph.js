/** The graph around a node, drawn in rings; each node can be pointed at, walked to by keys, and put in the middle. */

import { go, openItem } from "./address.js";
import { post } from "./api.js";
import { button, drawn, fill, h } from "./elements.js";
import { isCrowded, labels } from "./labels.js";
import { rings } from "./layout.js";
import { counted, shortened } from "./wording.js";

const NARROW_PX = 420;
const MOST = 60;
const MOST_NARROW = 24;
const MARGIN_PX = 36;

const DIRECTIONS = { both: "both ways", out: "from it", in: "to it" };

const choice = { max_distance: 2, direction: "both", types: null };

/** Ask for what is around a node, and draw it. */
export async function showGraph(parent, { node, signal }) {
  const body = h("div", { class: "graph" });
  fill(parent, body);
  choice.types = null;
  await draw(body, node, signal);
}

async function draw(body, node, signal) {
  const asked = { start_node: node, max_distance: choice.max_distance, direction: choice.direction };
  const context = await post("retrieval/graph", choice.types ? { ...asked, relationship_types: choice.types } : asked, { signal });
  const seen = new Set([...(body.types ?? []), ...context.edges.map((edge) => edge.type)]);
  body.types = [...seen].sort();
  const again = () => draw(body, node, signal);
  const line = h("p", { class: "graph-line", "aria-live": "polite" });
  const width = Math.max(280, Math.min(720, body.clientWidth || 480));
  const { places, missing } = rings(context, { radius: ringRadius(width), most: width < NARROW_PX ? MOST_NARROW : MOST });
  fill(
    body,
    controls(body.types, again),
    context.nodes.length > 1 ? picture(places, { width, line }) : h("p", { class: "empty", text: "Nothing is linked to it." }),
    line,
    h("p", { class: "fine", text: amount(context, missing) }),
    asList(context),
  );
  tell(line, places[0]);
}

const ringRadius = (width) => width / 2 - (width < NARROW_PX ? 84 : 122);

function amount(context, missing) {
  const reached = counted(context.nodes.length - 1, "node");
  const more = missing > 0 ? `, ${missing} of them only in the list below` : "";
  return `${reached} within ${counted(context.max_distance, "step")}${more}${context.truncated ? "; there are more than were followed" : ""}.`;
}

function controls(types, again) {
  const distance = select("Steps", { 1: "1", 2: "2", 3: "3" }, String(choice.max_distance), (value) => ((choice.max_distance = Number(value)), again()));
  const direction = select("Edges", DIRECTIONS, choice.direction, (value) => ((choice.direction = value), again()));
  const boxes = types.map((type) => {
    const input = h("input", { type: "checkbox", checked: !choice.types || choice.types.includes(type) });
    input.addEventListener("change", () => {
      const wanted = (choice.types ?? types).filter((each) => each !== type);
      if (input.checked) wanted.push(type);
      choice.types = wanted.length && wanted.length < types.length ? wanted : null;
      again();
    });
    return h("label", { class: "edge-type" }, input, type.toLowerCase().replaceAll("_", " "));
  });
  return h("div", { class: "row controls" }, distance, direction, boxes.length > 1 && boxes);
}

function select(label, values, chosen, act) {
  const made = h("select", { on: { change: () => act(made.value) } });
  made.append(...Object.entries(values).map(([value, text]) => h("option", { value, text, selected: value === chosen })));
  return h("label", {}, `${label} `, made);
}

function picture(places, { width, line }) {
  const [top, bottom] = isCrowded(places) ? [-width / 2, width / 2] : heights(places);
  const svg = drawn("svg", {
    class: "drawing",
    viewBox: `${-width / 2} ${top} ${width} ${bottom - top}`,
    width,
    height: bottom - top,
    role: "group",
    "aria-label": "Graph; arrow keys move between nodes",
  });
  const written = labels(places, { width, gap: ringRadius(width) / 2 });
  const edges = places.filter((place) => place.parent).map(edgeOf);
  const nodes = places.map((place, at) => nodeOf(place, { tab: at === 0, line, label: written[at] }));
  svg.append(drawn("g", { class: "edges" }, edges), drawn("g", {}, nodes));
  svg.addEventListener("keydown", (event) => walk(event, nodes));
  return svg;
}

function heights(places) {
  const all = places.map((place) => place.y);
  return [Math.min(...all) - MARGIN_PX, Math.max(...all) + MARGIN_PX];
}

function edgeOf(place) {
  const { parent, node } = place;
  const line = drawn("line", { x1: parent.x, y1: parent.y, x2: place.x, y2: place.y, class: `edge edge-${node.relationship_type?.toLowerCase()}` });
  line.append(drawn("title", { text: lastStep(node) }));
  place.edge = line;
  return line;
}

const lastStep = (node) => node.via.slice(-1).map((edge) => `${edge.source} ${edge.type} ${edge.target}`).join("");

function nodeOf(place, { tab, line, label }) {
  const { node } = place;
  const name = node.title || node.node_id;
  const group = drawn("g", {
    class: `node node-${family(node.node_type)}${node.distance ? "" : " middle"}`,
    transform: `translate(${place.x} ${place.y})`,
    tabindex: tab ? 0 : -1,
    role: "button",
    "aria-label": `${name}, ${node.node_type}${node.distance ? `, ${lastStep(node)}` : ", in the middle"}`,
  });
  group.append(drawn("title", { text: `${name}\n${node.node_id}` }), drawn("circle", { r: node.distance ? 5.5 : 8 }), label);
  const point = () => tell(line, place);
  group.addEventListener("mouseenter", point);
  group.addEventListener("focus", point);
  group.addEventListener("click", () => centre(node));
  return group;
}

const family = (type) => (["symbol", "entity", "code"].includes(type) ? type : "item");
const centre = (node) => node.distance && go({ node: node.node_id, pane: "graph" });

/** What is pointed at, in a line, with a way to open it. */
function tell(line, place) {
  if (!place) return;
  document.querySelectorAll(".edge.lit").forEach((edge) => edge.classList.remove("lit"));
  for (let at = place; at?.edge; at = at.parent) at.edge.classList.add("lit");
  const { node } = place;
  fill(line, h("b", { text: node.title || node.node_id }), ` ${node.node_type}. `, node.distance > 0 && `${lastStep(node)}. `, opener(node));
}

const opener = (node) =>
  node.node_type !== "entity" && button("Open", () => openItem(node.node_id), { class: "plain", "aria-label": `Open ${node.title || node.node_id}` });

function walk(event, nodes) {
  const at = nodes.indexOf(event.target);
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (at < 0) return;
  if (event.key === "Enter" || event.key === " ") event.target.dispatchEvent(new MouseEvent("click"));
  else if (step) move(nodes, at, step);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function move(nodes, at, step) {
  const next = nodes[(at + step + nodes.length) % nodes.length];
  nodes[at].setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
}

/** The same as words. */
function asList(context) {
  const rows = context.nodes.slice(1).map((node) =>
    h(
      "li",
      {},
      button(node.title || node.node_id, () => centre(node), { class: "path", title: "Put it in the middle" }),
      h("span", { class: "fine", text: `${node.node_type} · ${node.via.map((edge) => `${edge.source} ${edge.type} ${edge.target}`).join(", ")}` }),
      opener(node),
    ),
  );
  return rows.length > 0 && h("details", { class: "as-list" }, h("summary", { text: "As a list" }), h("ul", {}, rows));
}
