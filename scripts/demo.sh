#!/bin/sh
# Index this repository's own documents and some of its code, ask them a question, remember and recall a fact, and serve all of it.
# With --brief the service answers one request and ends; else it stays until Ctrl-C.
set -eu
cd "$(dirname "$0")/.."
brief=${1:-}
question="what happens to the search indexes after a crash?"

echo "\$ recollect index README.md ARCHITECTURE.md docs src/recollect/stores"
recollect index README.md ARCHITECTURE.md docs src/recollect/stores
echo
echo "\$ recollect search \"$question\" --k 3 --explain"
recollect search "$question" --k 3 --explain
echo
echo "\$ recollect context \"when is an answer that was kept not used again?\" --max-length 500"
recollect context "when is an answer that was kept not used again?" --max-length 500
echo
echo "\$ recollect remember --subject Acme --predicate prefers --object \"NET60 terms\""
recollect remember --subject Acme --predicate prefers --object "NET60 terms"
recollect remember --quiet "Acme asked why invoice 789 came late." --entity Acme --at 2024-02-01
recollect remember --quiet --when "a rush order comes in" --then "call the warehouse before confirming"
echo
echo "\$ recollect recall \"what does Acme prefer?\""
recollect recall "what does Acme prefer?"
echo

if [ "$brief" != --brief ]; then
    echo "\$ recollect serve"
    exec recollect serve
fi
echo "\$ recollect serve --port 0"
told=$(mktemp)
recollect serve --port 0 --json > "$told" 2> "$told.log" &
service=$!
trap 'kill $service 2> /dev/null || true; rm -f "$told" "$told.log"' EXIT
tries=0
while [ ! -s "$told" ] && kill -0 $service 2> /dev/null && [ $tries -lt 300 ]; do
    sleep 0.2
    tries=$((tries + 1))
done
[ -s "$told" ] || { cat "$told.log" >&2; exit 3; }
python - "$(cat "$told")" "$question" << 'ASK'
import json, sys, urllib.request

address = json.loads(sys.argv[1])["address"]
body = json.dumps({"query": sys.argv[2], "limit": 1}).encode()
print(f"$ curl {address}/retrieval/search -d '{body.decode()}'")
with urllib.request.urlopen(urllib.request.Request(f"{address}/retrieval/search", body)) as answer:
    (found,) = json.load(answer)
print(f"{found['path']}:{found['passages'][0]['line_start']}  {found['why']['sentence']}")
ASK
