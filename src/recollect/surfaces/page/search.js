/** The search: asks as you type, drops what is overtaken, and shows sources first and the evidence when it comes. */

import { go, openItem as open } from "./address.js";
import { isStopped, stream } from "./api.js";
import { showAsk } from "./ask.js";
import { chips, planNotes } from "./chips.js";
import { showContext } from "./context.js";
import { byId, fill, markedWords } from "./elements.js";
import { learn, showFilters, unlearn } from "./filters.js";
import { showHome } from "./home.js";
import { complain, hush } from "./notice.js";
import { resultList, showEvidence } from "./results.js";
import { counted, milliseconds } from "./wording.js";

const PAUSE_MS = 120;
const PAGE = 15;
const TABS = ["results", "context", "ask"];

let asked = "";
let stop = null;
let timer = 0;
let limit = PAGE;
let hiddenIntent = "";
let answer = { sources: [], analysis: null, routing: null };
let now = null;

/** The words that the last answer marks, for texts that are opened from it. */
export const words = () => markedWords(answer.sources);

let answered = () => {};

/** What of the state is sent with a question; contexts and answers are made of the same. */
export function filtersOf(state) {
  const filters = {};
  for (const field of ["kind", "status", "format"]) if (state[field].length) filters[field] = state[field];
  return filters;
}

function preferences(state) {
  return {
    query_text: state.q,
    filters: filtersOf(state),
    profile: state.look || null,
    top_k_items: limit,
    top_k_chunks: 2 * limit,
    per_item_chunk_cap: 4,
    snippet: { max_chars: 300 },
    facets: ["kind", "status", "format"],
    routing: state.anywhere ? { router: "none" } : {},
    graph: { understand: true, unread: state.unread, include_history: state.history, max_distance: state.reach ? 2 : null },
  };
}

/** Show a state of the address. */
export function showSearch(state) {
  now = state;
  const field = byId("q");
  if (field.value !== state.q && document.activeElement !== field) field.value = state.q;
  for (const radio of byId("look").querySelectorAll("input")) radio.checked = radio.value === state.look;
  const isAsked = state.q.trim() !== "";
  byId("home").hidden = isAsked;
  byId("found").hidden = !isAsked;
  showTab(state.tab);
  if (!isAsked) return rest(state);
  const question = JSON.stringify([preferences({ ...state, q: state.q.trim() }), state.scope]);
  if (question !== asked) later(question, state);
  if (state.tab === "context") showContext(byId("context-pane"), state, filtersOf(state));
  if (state.tab === "ask") showAsk(byId("ask-pane"), state, filtersOf(state));
}

/** Nothing is asked: what there is. */
function rest(state) {
  clearTimeout(timer);
  stop?.abort();
  asked = "";
  answer = { sources: [], analysis: null, routing: null };
  unlearn();
  fill(byId("results"));
  fill(byId("plan"), chips({ state, change: narrow }));
  byId("plan-notes").hidden = true;
  showHome(byId("home"), narrow);
}

function later(question, state) {
  clearTimeout(timer);
  stop?.abort();
  asked = question;
  timer = setTimeout(() => ask(question, state), PAUSE_MS);
}

async function ask(question, state) {
  const mine = (stop = new AbortController());
  const isMine = () => asked === question && stop === mine;
  const began = performance.now();
  byId("results").setAttribute("aria-busy", "true");
  try {
    await stream("retrieval/stream", preferences({ ...state, q: state.q.trim() }), {
      signal: mine.signal,
      on: {
        "rag.sources": (said) => isMine() && showSources(said, performance.now() - began),
        "rag.evidence": (said) => isMine() && showEvidence(byId("results"), said.evidence, { open, words: words() }),
      },
    });
    if (isMine()) hush();
  } catch (error) {
    if (isStopped(error) || !isMine()) return;
    asked = "";
    complain(error);
  } finally {
    if (stop === mine) byId("results").removeAttribute("aria-busy");
  }
}

function showSources({ sources, facets, analysis, routing }, took) {
  const isNew = analysis?.original_query !== answer.analysis?.original_query;
  if (isNew) hiddenIntent = "";
  answer = { sources, analysis, routing };
  learn(facets ?? {}, now);
  showFilters(byId("filters"), now, narrow);
  showPlan();
  fill(byId("results"), resultList(sources, { open }));
  byId("count").textContent = sources.length ? `${counted(sources.length, "result")} in ${milliseconds(took)}` : "Nothing was found";
  byId("more").hidden = sources.length < limit;
  markOpened(now);
  answered();
}

function showPlan() {
  const { analysis, routing } = answer;
  const hideIntent = () => ((hiddenIntent = analysis.original_query), showPlan());
  fill(byId("plan"), chips({ state: now, analysis, routing, change: narrow, hiddenIntent: hiddenIntent === analysis?.original_query, hideIntent }));
  const notes = planNotes(answer);
  byId("plan-notes").textContent = notes.join(" · ");
  byId("plan-notes").hidden = !notes.length;
}

/** Ask again with a choice of the user. */
function narrow(changes) {
  limit = PAGE;
  go(changes);
}

/** Which of the results is shown beside the list. */
export function markOpened({ item }) {
  for (const element of byId("results").children) element.classList.toggle("opened", element.dataset.id === item);
}

function showTab(tab) {
  for (const name of TABS) {
    const isShown = name === tab;
    byId(`${name}-pane`).hidden = !isShown;
    byId(`tab-${name}`).setAttribute("aria-selected", isShown);
    byId(`tab-${name}`).tabIndex = isShown ? 0 : -1;
  }
}

/** Wire the field, the tabs and the buttons, once. `then` is called when an answer has come. */
export function startSearch(then) {
  answered = then;
  byId("q").addEventListener("input", (event) => {
    limit = PAGE;
    go({ q: event.target.value, unread: [], anywhere: false, item: "" }, { replace: true });
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (now.tab === "ask") showAsk(byId("ask-pane"), now, filtersOf(now), { at: "once" });
    else byId("results").querySelector(".title")?.focus();
  });
  byId("look").addEventListener("change", (event) => narrow({ look: event.target.value }));
  byId("tabs").addEventListener("click", (event) => event.target.dataset.tab && go({ tab: event.target.dataset.tab }));
  byId("tabs").addEventListener("keydown", turnTabs);
  byId("more").addEventListener("click", () => {
    limit += PAGE;
    showSearch(now);
  });
}

function turnTabs(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const tab = TABS.at((TABS.indexOf(now.tab) + step) % TABS.length);
  go({ tab });
  byId(`tab-${tab}`).focus();
}
