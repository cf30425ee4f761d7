/** An answer written from the evidence, sentence by sentence, with citations that open what they rest on. */

import { openItem as open } from "./address.js";
import { isStopped, stream } from "./api.js";
import { contextText } from "./context.js";
import { button, fill, h } from "./elements.js";
import { complain } from "./notice.js";
import { counted, lines, place } from "./wording.js";

let shown = "";
let stop = null;

/** Ready to be asked: a model takes its time, so nothing is written before somebody says so. `at: "once"` asks. */
export function showAsk(parent, state, filters, { at = "" } = {}) {
  const body = { query: state.q.trim(), options: { filters, include_history: state.history, ...(state.unread.length && { unread: state.unread }) } };
  const wanted = JSON.stringify([body, state.scope]);
  if (at !== "once" && wanted === shown) return;
  shown = wanted;
  stop?.abort();
  if (at === "once") return void ask(parent, body);
  offer(parent, body);
}

function offer(parent, body) {
  const write = button("Write an answer", () => ask(parent, body), { class: "main" });
  fill(parent, h("div", { class: "row" }, write, h("span", { class: "fine", text: "From what is in the store alone, each sentence with its sources." })));
}

async function ask(parent, body) {
  const mine = (stop = new AbortController());
  const text = h("p", { class: "written", "aria-live": "polite" });
  const after = h("div", {});
  let citations = new Map();
  fill(parent, h("div", { class: "row" }, h("span", { class: "fine waiting", text: "Reading the sources…" }), button("Stop", () => mine.abort(), { class: "plain" })), text, after);
  const head = parent.firstChild;
  try {
    await stream("retrieval/ask", body, {
      signal: mine.signal,
      on: {
        "ask.sources": (said) => (citations = new Map(said.citations.map((each) => [each.number, each]))),
        "ask.sentence": (said) => text.append(...sentence(said, citations)),
        "ask.answer": (said) => fill(after, ending(said, citations)),
      },
    });
  } catch (error) {
    if (!isStopped(error)) complain(error);
    if (!text.textContent) return void (parent.isConnected && stop === mine && offer(parent, body));
  }
  head.remove();
}

function sentence({ text, citations: numbers }, citations) {
  const links = [...new Set(numbers)].filter((number) => citations.has(number)).map((number) => citationLink(citations.get(number)));
  return [text.replace(/\s*\[\d+(?:\s*[,–-]\s*\d+)*\](?=[\s.,;:!?[]|$)/g, ""), ...links, " "];
}

function citationLink(citation) {
  const show = () => open(citation.node_id, "text", lines(citation.line_start, citation.line_end));
  return button(`${citation.number}`, show, { class: "cite", title: whereOf(citation), "aria-label": `Source ${citation.number}: ${whereOf(citation)}` });
}

const whereOf = (citation) => `${citation.title ? `${citation.title}, ` : ""}${place(citation.path || citation.node_id, citation.line_start, citation.line_end)}`;

/** What is told when all is written: the sources that were cited, what was dropped, or the context where no model is set. */
function ending(answer, citations) {
  const cited = new Set((answer.sentences ?? []).flatMap((each) => each.citations));
  const used = [...citations.values()].filter((each) => cited.has(each.number));
  const dropped = answer.dropped ?? [];
  const leftOut = answer.left_out ?? [];
  return [
    (answer.notes ?? []).map((note) => h("p", { class: "note", text: note })),
    used.length > 0 && h("ol", { class: "cited", "aria-label": "Sources" }, used.map((each) => h("li", {}, citationLink(each), h("span", { text: whereOf(each) })))),
    dropped.length > 0 && h("p", { class: "fine", text: `${counted(dropped.length, "citation")} led nowhere and went.` }),
    leftOut.length > 0 && h("p", { class: "fine", text: `${counted(leftOut.length, "sentence")} rested on nothing and went.` }),
    !answer.text && answer.context && h("div", { class: "context" }, contextText(answer.context)),
  ];
}
