#!/bin/sh
# layers.sh [TREE]: arrows point only downwards. Fails on an include that points
# upwards or at a private header of another floor, on files of one folder that
# include each other in a circle, and on a folder that it does not know.
set -eu
cd "${1:-.}"

# What a floor shows to those above it; of net/ also the doors of its rooms.
resp='resp/(base|resp)\.h'
net='net/(net|credentials|version)\.h|net/base/(assert|dump|error|histogram|info|mem|metric_label|moment|random|sized|thread|url|named_options|utf8|word_distance)\.h|net/loop/(clock|loop)\.h'
net="$net|net/wire/(tls_context|wire)\.h|net/link/link\.h"
net="$net|net/route/(cluster_view|refusal|router|slot)\.h"
lock='lock/(by_owner|dump|label|latch|lock|metrics|multi|permits|queue|quorum|renew|rights|semaphore|token)\.h'
contracts="$resp|$net|$lock"
# Headers that several files implement: a header of those files alone may include them.
shared='lock/script/call\.h'
any='[a-z0-9_]+\.h'

bad=0
fail() { echo "$*" >&2; bad=1; }

# "file:line: header" of each of our headers that a file includes. The tree is read once.
found=$(mktemp)
trap 'rm -f "$found"' EXIT
find resp net lock cli tools -name '*.[ch]' -exec grep -HnE '^ *# *include +"' {} + |
    sed -E 's/^([^:]+:[0-9]+): *# *include +"([^"]*)".*/\1: \2/' >"$found"

# arrows FOLDERS (a pattern): "lock/call lock/lease": call.c or call.h includes lease.h of
# its folder. A contract, or a shared header, is a file of its own: "net/loop/drive
# net/loop/loop.h".
arrows() {
    sed -nE "s|^(($1)/[^/:]+\.[ch]):[0-9]+: (\2/[^/]+\.h)\$|\1\n\3|p" "$found" |
        sed -E "\#^($contracts|$shared)\$#! s/\.[ch]$//" | paste -d ' ' - - |
        awk '$1 != $2'
}

looked=
look() { # folder, what its includes may be: a pattern
    looked="$looked $1 "
    ! grep "^$1/[^/]*:" "$found" | grep -vE ": ($2)\$" || fail "$1/ must not include these"
}

look resp "resp/$any"
look net "$resp|net/version\.h"
look net/base "$resp|net/(net|credentials|version)\.h|net/base/$any"
look net/loop "$resp|net/(net|credentials)\.h|net/(base|loop)/$any"
look net/wire "$resp|net/(net|credentials)\.h|net/(base|loop|wire)/$any"
look net/link "$resp|net/(net|credentials)\.h|net/(base|loop|wire|link)/$any"
look net/route "$resp|net/(net|credentials)\.h|net/(base|loop|wire|link|route)/$any"
# The contracts of lock/ are at its top, and its folders know them all.
below="$resp|$net|lock/$any|lock/script/script_names\.h"
look lock "$below"
look lock/machine "$below|lock/machine/$any"
look lock/script "$below|lock/(machine|script)/$any"
look lock/record "$below|lock/(machine|script|record)/$any"
look lock/verb "$below|lock/(machine|script|record|verb)/$any"
look lock/api "$below|lock/(machine|script|record|verb|api)/$any"
look lock/set "$below|lock/(machine|script|record|verb|api|set)/$any"
# The folders of cli/ know what they share, and not each other.
look cli "$resp|$net|$lock|holdfast\.h|cli/$any|cli/base/$any"
for folder in base lock run ls doctor bench; do
    look "cli/$folder" "$resp|$net|$lock|cli/(base|$folder)/$any"
done

# A program of its own knows what subcommands share, and no subcommand.
look tools/resp "$resp|$net|$lock|cli/base/$any|tools/resp/$any"

# Is there a circle? If so, each folder is searched by itself.
arrows '[^:]+' | tsort >/dev/null 2>&1 || for folder in $looked; do
    arrows "$folder" | tsort >/dev/null || fail "$folder/: these include each other"
done

for folder in $(find resp net lock cli tools -name '*.[ch]' | sed 's|/[^/]*$||' | sort -u); do
    case $looked in
    *" $folder "*) ;;
    *) fail "$folder/ is in no rule of tests/layers.sh" ;;
    esac
done
exit $bad
