/** Calls of the service: the scope and the key go with each, trouble comes back as a `Problem` of one line. */

import { hush, say } from "./notice.js";

const KEY = "recollect.key";
const LONGEST_WAIT_S = 30;

/** Who asks: the scope of every call, and who can be asked for a key. */
export const caller = { scope: "", askForKey: async () => null };

/** What went wrong, in one line. */
export class Problem extends Error {
  constructor(line, { status = 0, requestId = null } = {}) {
    super(line);
    this.status = status;
    this.requestId = requestId;
  }
}

/** Whether an error is only that nobody wants the answer any more. */
export const isStopped = (error) => error?.name === "AbortError";

export async function get(path, query = {}, options = {}) {
  return (await send("GET", path, { ...options, query })).json();
}

export async function post(path, body, options = {}) {
  return (await send("POST", path, { ...options, body })).json();
}

export async function remove(path, options = {}) {
  await send("DELETE", path, options);
}

/** Post, and call `on[event](data)` for each server-sent event of the answer. */
export async function stream(path, body, { signal, on }) {
  const answer = await send("POST", path, { body, signal, accept: "text/event-stream" });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const blocks = (rest + (value ?? "").replaceAll("\r\n", "\n")).split("\n\n");
    rest = done ? "" : blocks.pop();
    for (const block of blocks) tell(block, on);
    if (done) return;
  }
}

/** One event: its name, and its data as JSON. */
function tell(block, on) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  if (!data.length) return;
  const said = JSON.parse(data.join("\n"));
  if (name === "error") throw problemOf(said, said.status ?? 0);
  on[name]?.(said);
}

async function send(method, path, options, attempt = 0) {
  const key = sessionStorage.getItem(KEY);
  const answer = await fetched(method, path, { ...options, key });
  if (answer.ok) return answer;
  const problem = problemOf(await answer.json().catch(() => ({})), answer.status);
  if (answer.status === 401 && (await newKey(problem, key))) return send(method, path, options, attempt);
  const wait = Number(answer.headers.get("Retry-After"));
  if ((answer.status === 429 || answer.status === 503) && wait && attempt === 0) {
    await pause(Math.min(wait, LONGEST_WAIT_S), options.signal);
    return send(method, path, options, 1);
  }
  throw problem;
}

async function fetched(method, path, { body, key, query = {}, signal, accept = "application/json" }) {
  const url = new URL(path, document.baseURI);
  const said = caller.scope ? { ...query, scope: caller.scope } : query;
  for (const [name, value] of Object.entries(said)) if (value !== "" && value !== null) url.searchParams.set(name, value);
  const headers = { Accept: accept };
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(url, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (isStopped(error)) throw error;
    throw new Problem("The service does not answer. Is it running?");
  }
}

function problemOf({ title, detail, request_id: requestId }, status) {
  return new Problem(detail || title || `The service answered with ${status}.`, { status, requestId });
}

let asking = null;

/** Ask for another key than the one that was refused, once for all calls that wait for one; whether there is one now. */
async function newKey(problem, refused) {
  if (sessionStorage.getItem(KEY) !== refused) return true;
  asking ??= caller.askForKey(problem.message).finally(() => (asking = null));
  const key = await asking;
  if (!key || key === refused) return false;
  sessionStorage.setItem(KEY, key);
  return true;
}

function pause(seconds, signal) {
  say(`The service is busy. Trying again in ${seconds} s.`);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => (hush(), resolve()), seconds * 1000);
    signal?.addEventListener("abort", () => (clearTimeout(timer), hush(), reject(signal.reason)), { once: true });
  });
}
