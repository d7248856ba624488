#!/bin/sh
# Fails on an include that points upwards, or at another floor's private header.
set -eu

bad=0
look() { # floor, what its includes may be
    if grep -nE '^ *# *include +"' "$1"/*.c "$1"/*.h |
        grep -vE "\"($2)\""; then
        echo "$1/ must not include these" >&2
        bad=1
    fi
}
look resp 'resp/[a-z0-9_]+\.h'
look net 'net/[a-z0-9_]+\.h|resp/(base|resp)\.h'
look lock 'lock/[a-z0-9_]+\.h|net/net\.h|resp/(base|resp)\.h'
# The rooms of cli/ know what they share, and not each other.
below='lock/lock\.h|net/net\.h|resp/(base|resp)\.h'
look cli "cli/[a-z0-9_]+\.h|$below|holdfast\.h"
for room in run doctor resp; do
    look "cli/$room" "cli/($room/)?[a-z0-9_]+\.h|$below"
done
exit $bad
