#!/bin/sh
# own_header.sh [TREE]: each .c file of the four layers and of tools/ includes its own header first, so
# that a header which needs another one before it does not compile. The header of
# lock/api/lock.c and the like is the contract lock/lock.h.
set -eu
tree=${1:-.}

# late TREE: a line for each file that includes another header first.
late() {
    (cd "$1" && find resp net lock cli tools -name '*.c' 2>/dev/null | sort | xargs awk '
        function judge() {
            own = file
            sub(/\.c$/, ".h", own)
            contract = "lock/" own
            sub(/\/.*\//, "/", contract)
            if (!(own in included) && file ~ /^lock\//)
                own = contract
            if (own in included && first != own)
                print file " includes " first " before its own header, " own
        }
        FNR == 1 {
            if (file)
                judge()
            file = FILENAME; first = ""
            delete included
        }
        /^# *include +[<"]/ {
            header = $0
            sub(/^# *include +[<"]/, "", header)
            sub(/[>"].*/, "", header)
            if (!first)
                first = header
            if (/^#include "/)
                included[header]
        }
        END { if (file) judge() }')
}

found=$(late "$tree")
[ -z "$found" ] || { echo "$found" >&2; exit 1; }

# Does it notice a file whose own header, or contract, is not the first?
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/net" "$dir/lock/api"
printf '#include "net/good.h"\n#include <stdio.h>\n' >"$dir/net/good.c"
printf '#include <stdio.h>\n' >"$dir/net/none.c"
printf '#include "lock/lock.h"\n#include "net/good.h"\n' >"$dir/lock/api/lock.c"
[ -z "$(late "$dir")" ] || { echo "own_header.sh refuses what is right" >&2; exit 1; }
printf '#include <stdio.h>\n#include "net/bad.h"\n' >"$dir/net/bad.c"
printf '#include "net/good.h"\n#include "lock/latch.h"\n' >"$dir/lock/api/latch.c"
[ "$(late "$dir" | cut -d' ' -f1 | tr '\n' ' ')" = 'lock/api/latch.c net/bad.c ' ] || {
    echo "own_header.sh does not notice what is wrong" >&2
    exit 1
}
