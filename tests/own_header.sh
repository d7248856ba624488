#!/bin/sh
# own_header.sh [TREE]: each .c file of the four layers and of tools/ includes its own header first, so
# that a header which needs another one before it does not compile. The header of
# lock/api/lock.c and the like is the contract lock/lock.h.
set -eu
cd "${1:-.}"

bad=0
for file in $(find resp net lock cli tools -name '*.c' | sort); do
    first=$(sed -nE '/^# *include/{s/^# *include +[<"]([^>"]*)[>"].*/\1/p;q}' "$file")
    for header in "${file%.c}.h" "lock/$(basename "$file" .c).h"; do
        case $header in lock/*) [ "${file#lock/}" != "$file" ] || continue ;; esac
        grep -qF "#include \"$header\"" "$file" || continue
        [ "$first" = "$header" ] || {
            echo "$file includes $first before its own header, $header" >&2
            bad=1
        }
        break
    done
done
exit $bad
