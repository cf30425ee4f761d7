#!/bin/sh
# Index this repository's own documents and code, ask them a question, and remember and recall a fact.
set -eu
cd "$(dirname "$0")/.."
question=${1:-"what happens to the search indexes after a crash?"}

echo "\$ recollect index README.md ARCHITECTURE.md docs src"
recollect index README.md ARCHITECTURE.md docs src
echo
echo "\$ recollect search \"$question\" --k 3 --explain"
recollect search "$question" --k 3 --explain
echo
echo "\$ recollect search HybridRetriever.search --profile code --k 1"
recollect search HybridRetriever.search --profile code --k 1
echo
echo "\$ recollect context \"when is an answer that was kept not used again?\" --max-length 500"
recollect context "when is an answer that was kept not used again?" --max-length 500
echo
echo "\$ recollect remember --subject Acme --predicate prefers --object \"NET60 terms\" --scope ann"
recollect remember --subject Acme --predicate prefers --object "NET60 terms" --scope ann
echo
echo "\$ recollect recall \"what does Acme prefer?\" --scope ann"
recollect recall "what does Acme prefer?" --scope ann
echo
echo "Ask your own: .venv/bin/recollect search \"...\"    What there is: .venv/bin/recollect --help"
