/** A button that copies a text, also where the browser gives no leave to use the clipboard. */

import { button, h } from "./elements.js";
import { say } from "./notice.js";

const SHOWN_MS = 1500;

/** `text()` gives what is copied. */
export function copyButton(text, label = "Copy") {
  const made = button(label, async () => {
    const done = (await byClipboard(text())) || bySelection(text());
    if (!done) return say("The browser does not let this be copied: select the text and press Ctrl+C.");
    made.textContent = "Copied";
    setTimeout(() => (made.textContent = label), SHOWN_MS);
  }, { class: "plain copy" });
  return made;
}

async function byClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // Not over plain HTTP, or not allowed.
  }
}

function bySelection(text) {
  const focused = document.activeElement;
  const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}
