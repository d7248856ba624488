#!/bin/sh
# run.sh BUILD: judges locks that others have written, and fails if a verdict is not the
# one that docs/judge.md has. What is not installed, or cannot be fetched, is skipped.
set -eu

here=$PWD/tests/judge/examples
build=$PWD/$1
own=$build/judge-examples
failed=0
mkdir -p "$own"

skip() { echo "skipped: $1 ($2)"; }

# once NAME CLIENT...: sets `found` to the properties that are violated, or "right".
once() {
    name=$1
    shift
    code=0
    bash "$here/judge.sh" "$build/judge" "$own/$name" "$@" >"$own/$name.txt" 2>&1 ||
        code=$?
    found=$(sed -n 's/.*history\.txt: \(P[0-9]*\),.*/\1/p' "$own/$name.txt" | sort -u |
        tr '\n' ' ')
    found=${found% }
    found=${found:-right}
    [ "$code" -le 1 ] || found="exit code $code"
}

# verdict NAME EXPECTED CLIENT...: on a busy machine the third client may come too late
# to show a fault, so an expected violation has three tries.
verdict() {
    expected=$2 title=$1
    shift 2
    for _ in 1 2 3; do
        once "$title" "$@"
        [ "$found" != "$expected" ] && [ "$expected" != right ] || break
    done
    echo "$title: $found"
    if [ "$found" != "$expected" ]; then
        echo "    expected: $expected; see $own/$title.txt" >&2
        failed=1
    fi
}

if ! command -v python3 >/dev/null; then
    skip "locks of others" "needs python3"
    exit 0
fi

verdict naive 'P1 P2' bash "$here/naive.sh"

# The packages of make others, at the same place.
python=$build/others/python
if [ -e "$python/redis" ] || python3 -m pip install -q --target "$python" \
    redis==8.1.0 >"$own/pip.log" 2>&1; then
    export PYTHONPATH="$python"
    verdict redis-py 'P1 P2' python3 "$here/redis_py.py"
    verdict redis-py-reckon right python3 "$here/redis_py.py" --reckon
    verdict redis-py-careless 'P1 P2' python3 "$here/redis_py.py" --reckon --careless
else
    skip redis-py "it cannot be fetched: $own/pip.log"
fi

get() {
    mkdir -p "$own/go"
    cp "$here/redsync.go" "$own/go/main.go"
    cd "$own/go"
    [ -e go.mod ] || go mod init example
    [ -e go.sum ] ||
        go get github.com/go-redsync/redsync/v4@v4.13.0 github.com/redis/go-redis/v9
    go build -o redsync
}

if ! command -v go >/dev/null; then
    skip redsync "needs go"
elif (get) >"$own/go.log" 2>&1; then
    verdict redsync right "$own/go/redsync"
    verdict redsync-ignore-until 'P1 P2' "$own/go/redsync" --ignore-until
else
    skip redsync "it cannot be fetched or built: $own/go.log"
fi
exit $failed
