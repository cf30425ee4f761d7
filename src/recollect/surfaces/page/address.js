/** What is shown, kept in the hash of the address, so that it can be linked and the back button works. */

const START = {
  view: "search",
  q: "",
  look: "",
  kind: [],
  status: [],
  format: [],
  unread: [],
  anywhere: false,
  history: false,
  reach: false,
  tab: "results",
  item: "",
  lines: "",
  pane: "text",
  node: "",
  recall: "",
  untold: [],
  type: "",
  scope: "",
};
const LATER_MS = 300;
const VIEWS = ["search", "memories", "status"];

/** The state that an address names; what it does not say is as at the start. */
export function parsed(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const given = new URLSearchParams(query);
  const state = structuredClone(START);
  for (const [name, start] of Object.entries(START)) {
    if (!given.has(name)) continue;
    state[name] = Array.isArray(start) ? given.getAll(name) : typeof start === "boolean" ? true : given.get(name);
  }
  state.view = VIEWS.includes(path) ? path : "search";
  return state;
}

/** The address of a state: only what differs from the start is said. */
export function written(state) {
  const said = new URLSearchParams();
  for (const [name, start] of Object.entries(START)) {
    const value = state[name];
    if (name === "view" || String(value) === String(start)) continue;
    if (Array.isArray(value)) value.forEach((each) => said.append(name, each));
    else said.append(name, value === true ? "1" : value);
  }
  const query = said.toString();
  return `#/${state.view}${query ? `?${query}` : ""}`;
}

let current = parsed(location.hash);
const watchers = [];
let pending = 0;

export const state = () => current;

/** Call with the state, now before it and whenever it changes. */
export function watch(act) {
  watchers.push(act);
}

/** Change what is shown. `replace`: without a step for the back button, as while typing. */
export function go(changes, { replace = false } = {}) {
  const next = { ...current, ...changes };
  const hash = written(next);
  if (hash === written(current)) return;
  if (replace) later();
  else {
    catchUp();
    history.pushState(null, "", hash);
  }
  settle(next);
}

/** Browsers refuse an address that changes with every letter: it follows when the typing pauses. */
function later() {
  clearTimeout(pending);
  pending = setTimeout(catchUp, LATER_MS);
}

function catchUp() {
  if (!pending) return;
  clearTimeout(pending);
  pending = 0;
  history.replaceState(null, "", written(current));
}

/** Show an item beside what is there: its text at some lines, the graph around it, or what is similar. */
export function openItem(item, pane = "text", lines = "") {
  go({ item, pane, lines, node: "" });
}

function settle(next) {
  current = next;
  watchers.forEach((act) => act(current));
}

addEventListener("pagehide", catchUp);
addEventListener("popstate", () => {
  clearTimeout(pending);
  pending = 0;
  settle(parsed(location.hash));
});
