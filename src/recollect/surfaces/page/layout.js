/** Where the nodes of a graph stand: in rings by their distance, each beside the one that led to it. Pure, the same every time. */

const GOLDEN_START = -Math.PI / 2;

/**
 * Nodes with `x`, `y` and `angle`, for a drawing of this size around 0,0; and how many are not shown.
 * Each node gets as much of the circle as the ends of its branch need.
 */
export function rings(context, { radius, most }) {
  const shown = context.nodes.slice(0, most);
  const known = new Map(shown.map((node) => [node.node_id, { node, children: [], parent: null }]));
  const root = known.get(context.start_node) ?? known.get(shown[0]?.node_id);
  for (const place of known.values()) {
    if (place === root) continue;
    place.parent = known.get(before(place.node)) ?? root;
    place.parent.children.push(place);
  }
  const deepest = Math.max(1, ...shown.map((node) => node.distance));
  if (root) spread(root, GOLDEN_START, GOLDEN_START + 2 * Math.PI, (distance) => (radius * distance) / deepest);
  return { places: [...known.values()], missing: context.nodes.length - shown.length };
}

/** The node from which the last edge of its path led to it. */
function before(node) {
  const last = node.via.at(-1);
  if (!last) return null;
  return last.source === node.node_id ? last.target : last.source;
}

function ends(place) {
  return (place.ends ??= place.children.length ? place.children.reduce((sum, child) => sum + ends(child), 0) : 1);
}

function spread(place, from, to, radiusOf) {
  const angle = (from + to) / 2;
  const away = radiusOf(place.node.distance);
  Object.assign(place, { angle, x: away * Math.cos(angle), y: away * Math.sin(angle) });
  let at = from;
  for (const child of place.children) {
    const width = ((to - from) * ends(child)) / ends(place);
    spread(child, at, at + width, radiusOf);
    at += width;
  }
}
