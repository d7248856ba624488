#!/bin/sh
# words.sh: the pages that users read, the messages of the command, and the comments of the
# private headers below, have none of the phrases in tests/words.txt.
# words.sh FILE...: searches these pages instead.
set -eu
words=$PWD/tests/words.txt

# Pages that are in plain English, and must remain so. A page is added when it has been
# rewritten.
pages='README.md CONTRIBUTING.md SECURITY.md docs/README.md docs/architecture.md docs/cluster.md docs/comparison.md docs/embedding.md docs/embedding-resp.md docs/fencing.md docs/glossary.md docs/guarantees.md docs/guide.md docs/migration.md docs/releasing.md
    docs/holdfast.1 docs/holdfast-url.7 tools/holdfast-resp.1 docs/install.md docs/json.md docs/kinds.md docs/labels.md docs/metrics.md docs/permissions.md docs/quorum.md docs/replicas.md docs/run.md docs/semaphores.md docs/sentinel.md
    docs/bindings.md docs/net-speed.md docs/resp-check.md docs/resp-speed.md docs/resp-vectors.md
    docs/sources.md docs/tls.md docs/tracking.md docs/torture.md
    lock/by_owner.h lock/connect.h lock/dump.h lock/election.h lock/label.h lock/latch.h lock/lock.h lock/metrics.h lock/multi.h
    lock/permits.h lock/queue.h lock/quorum.h lock/renew.h lock/semaphore.h lock/token.h
    net/net.h net/version.h resp/base.h resp/resp.h holdfast.hpp'

# Private headers: only their comments are searched, because identifiers may contain these
# words.
headers='lock/*/*.h net/*/*.h cli/*.h cli/*/*.h'

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# found FILE...: prints each phrase that they have, with its place and the advice.
found() {
    grep -v '^#' "$words" | while IFS="$(printf '\t')" read -r phrase advice; do
        grep -HnP -- "$phrase" "$@" | sed "s|\$|    -> $advice|" || true
    done
}

# texts FILE...: each string of these C files, after the file's name and a tab.
texts() {
    perl -0777 -ne 's{/\*.*?\*/}{}gs; s{^#include.*}{}mg; s{"\s*\n\s*"}{}g;
        while (/"((?:[^"\\\n]|\\.)*)"/g) { print "$ARGV\t$1\n" }' "$@"
}

# found_in_texts FILE: as found, in what texts printed. Names of commands are not words.
found_in_texts() {
    grep -v 'cluster|slots' "$1" >"$dir/texts" || true
    cut -f 2- "$dir/texts" >"$dir/strings"
    found "$dir/strings" | while IFS=: read -r _ line rest; do
        echo "$(sed -n "${line}s/\t.*//p" "$dir/texts"): $rest"
    done
}

# comments FILE...: copies of these C files, each under $dir/comments, whose lines have only
# the comments.
comments() {
    for file; do
        mkdir -p "$dir/comments/${file%/*}"
        perl -0777 -pe 's{(/\*.*?\*/)|"(?:[^"\\\n]|\\.)*"|([^\n])}{$1 // ""}gse' "$file" \
            >"$dir/comments/$file"
    done
}

found ${*:-$pages} >"$dir/found"
if [ $# -eq 0 ]; then
    # The library's messages, which this page quotes, are not searched.
    sed 's/`[^`]*`/`/g' docs/messages.md >"$dir/messages.md"
    found "$dir/messages.md" >>"$dir/found"
    texts $(find cli tools -name '*.[ch]') >"$dir/cli" # the messages of the command
    found_in_texts "$dir/cli" >>"$dir/found"
    comments $headers
    found $(find "$dir/comments" -type f) | sed "s|^$dir/comments/||" >>"$dir/found"
fi
[ ! -s "$dir/found" ] || {
    sort -t: -k1,1 -k2,2n "$dir/found" >&2
    echo "$0: write these sentences in plain English" >&2
    exit 1
}

# Does it notice each phrase, and only these?
cat >"$dir/page" <<'PAGE'
wait so long
but for a closed fd
this is no lock
was not to be had
likewise for waiters
exit status 125: trouble
it is not held any more
whoever holds it
what stands in the key
Of a lock, one holder
the wait is over
refused, too
it asks the server
a question
the server told it
it gives up
it is to be done
a message behind the reply
it is had by none, for they have it
whole, or else refused
an owner of one who waits
what is left in the queue goes on
PAGE
found "$dir/page" | cut -d: -f2 | sort -un >"$dir/noticed"
seq "$(wc -l <"$dir/page")" >"$dir/all"
cmp -s "$dir/all" "$dir/noticed" || {
    echo "$0: it does not notice each line of its own sample:" >&2
    diff "$dir/all" "$dir/noticed" >&2
    exit 1
}
cat >"$dir/page" <<'PAGE'
There is no server. It is no longer held. Redis Cluster stands alone.
The client follows ASK redirections.
PAGE
[ -z "$(found "$dir/page")" ] || { found "$dir/page" >&2; exit 1; }
cat >"$dir/page.c" <<'PAGE'
static void ask(const char *told); /* hf_ask: whoever asks */
PAGE
(cd "$dir" && dir=. && comments ./page.c && found comments/page.c) |
    grep -q 'whoever' || { echo "$0: it does not notice a comment" >&2; exit 1; }
cat >"$dir/page.h" <<'PAGE'
static void ask(const char *told); /* hf_ask */
PAGE
[ -z "$(cd "$dir" && dir=. && comments ./page.h && found comments/page.h)" ] || {
    echo "$0: it takes code for a comment" >&2
    exit 1
}
cat >"$dir/page.c" <<'PAGE'
#include "cli/questions.h"
/* Likewise. */ const char *text = "125 \"x\" tro"
                                   "uble";
PAGE
texts "$dir/page.c" >"$dir/cli"
found_in_texts "$dir/cli" | grep -q 'page.c: 125.*-> error' || {
    echo "$0: it does not notice a string" >&2
    exit 1
}
[ "$(found_in_texts "$dir/cli" | wc -l)" -eq 1 ] || {
    found_in_texts "$dir/cli" >&2
    exit 1
}
