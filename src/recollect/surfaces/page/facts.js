/** What the service says of itself and the store, asked for once for each scope and after something was changed. */

import { caller, get } from "./api.js";
import { complain } from "./notice.js";

let kept = null;
let keptOf = null;

export const forgetFacts = () => (kept = null);

export function facts() {
  if (!kept || keptOf !== caller.scope) {
    keptOf = caller.scope;
    kept = get("status").catch((error) => {
      kept = null;
      complain(error);
      return {};
    });
  }
  return kept;
}
