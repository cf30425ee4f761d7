/** The page: which view is shown, the scope, the key, and what is wired once. */

import { go, state, watch } from "./address.js";
import { caller } from "./api.js";
import { byId, fill, h } from "./elements.js";
import { facts } from "./facts.js";
import { startKeys } from "./keys.js";
import { showMemories } from "./memories.js";
import { showPanel } from "./panel.js";
import { markOpened, showSearch, startSearch, words } from "./search.js";
import { showStatus } from "./status.js";
import { redrawText } from "./text.js";

const TITLES = { search: "Search", memories: "Memories", status: "Status" };
let before = null;

function show(now) {
  caller.scope = now.scope;
  for (const view of Object.keys(TITLES)) byId(view).hidden = view !== now.view;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === now.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = now.view === "search" && now.q ? `${now.q} · Recollect` : `${TITLES[now.view]} · Recollect`;
  if (now.scope !== before?.scope) showScope();
  if (now.view === "search") showSearch(now);
  if (now.view === "memories") showMemories(byId("memories"), now);
  if (now.view === "status" && (before?.view !== "status" || before.scope !== now.scope)) showStatus(byId("status"));
  showPanel(now, words);
  markOpened(now);
  before = now;
}

/** The scope: a choice where the service tells which there are, else a field. */
async function showScope() {
  const known = await facts();
  const names = known.scopes ?? [];
  const chosen = state().scope || known.scope || "";
  const change = (event) => go({ scope: event.target.value.trim(), item: "", unread: [] });
  const field = names.length
    ? h("select", { id: "scope", on: { change } }, [...new Set([chosen, ...names])].map((name) => h("option", { value: name, text: name, selected: name === chosen })))
    : h("input", { id: "scope", value: chosen, autocomplete: "off", size: 10, on: { change } });
  fill(byId("scope-field"), field);
}

/** Ask for a key; null where nobody gives one. */
function askForKey(why) {
  const dialog = byId("key-dialog");
  byId("key-why").textContent = why;
  byId("key-input").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "use" ? byId("key-input").value.trim() || null : null), { once: true });
  });
}

function start() {
  caller.askForKey = askForKey;
  byId("keys-button").addEventListener("click", () => byId("keys").showModal());
  byId("skip").addEventListener("click", () => byId("main").focus());
  for (const link of document.querySelectorAll("header a")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(link.dataset.view ? { view: link.dataset.view } : { view: "search", q: "", item: "", tab: "results", unread: [], kind: [], status: [], format: [] });
    });
  }
  startSearch(redrawText);
  startKeys();
  watch(show);
  show(state());
  if (state().view === "search" && !state().item && matchMedia("(hover: hover)").matches) byId("q").focus();
}

start();
