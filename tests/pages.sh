#!/bin/bash
# pages.sh BUILD COMPILER: the samples of README.md and docs/*.md are right.
#   ```c, ```cpp   are compiled; a program with main is also run, on a server of this script. A
#                  fragment is compiled as the body of a function, after the names in `prelude`
#   ```python      is compiled, if python3 is installed
#   ```sh          (in any page) and README's indented commands are run, in a folder with the
#                  scripts that they name; the exit status must be 0
# A block after the line <!-- not run: REASON --> is left out. The reason must not be empty.
set -euo pipefail
build=$(cd "$1" && pwd)
compiler=$2
tree=$PWD
. tests/embed/server.sh
dir=$folder/pages
mkdir "$dir"

# blocks PAGE: writes each block to $dir/blocks/PAGE:LINE.KIND; KIND is the language, or "lines" for
# README's indented commands. Blocks that are left out have the kind "out".
blocks() {
    awk -v page="$1" -v to="$dir/blocks/${1//\//_}" '
        function begin(kind) {
            file = to ":" NR "." (reason ? "out" : kind)
            printf "" > file
            reason = ""
        }
        /^<!-- not run:/ {
            if ($0 !~ /^<!-- not run: .+ -->$/) { print page ":" NR ": no reason"; exit 1 }
            reason = $0
            next
        }
        /^```[a-z]+$/ { begin(substr($0, 4)); inside = 1; next }
        /^```$/ { if (!inside) { begin("text"); inside = 1 } else { inside = 0; close(file) } next }
        inside { print > file; next }
        page == "README.md" && /^    / {
            if (!is_indented) begin("lines")
            is_indented = 1
            print substr($0, 5) > file
            next
        }
        { is_indented = 0 }
        /./ && reason { print page ":" NR ": this is not a block"; exit 1 }
    ' "$1" || fail "$1"
}
mkdir "$dir/blocks"
for page in README.md docs/*.md; do
    blocks "$page"
done

# ---- a server, and a folder as the pages have it ----

start_server
export HOLDFAST_URL="unix://$folder/sock" PATH="$build:$PATH" LD_LIBRARY_PATH="$dir/lib"
mkdir "$dir/work" "$dir/lib"
ln -s "$build/libholdfast.so" "$dir/lib/libholdfast.so.0"
for script in report build deploy; do
    printf '#!/bin/sh\nexit 0\n' >"$dir/work/$script.sh"
    chmod +x "$dir/work/$script.sh"
done

# ---- C and C++ ----

prelude='#include <stdio.h>
#include <unistd.h>
#include <holdfast/holdfast.h>
struct hf_client *client, *clients[3];
struct hf_lock *lock;
struct hf_error error;
hf_status rc;
int fail(const char *text);
int write_report(void *ctx, struct hf_lock *lock);
int fragment(void);
int fragment(void)
{
#line 1'

# compile KIND FILE: a program with main is linked as FILE.run, anything else is only checked.
compile() {
    local flags="-Wall -Wextra -Werror -I$build/include -I$dir/pair -I. -include stdbool.h"
    local is_program=
    ! grep -q '^int main' "$2" || is_program=yes
    case $1 in
    c)
        if [ -z "$is_program" ] && ! grep -q '^#include' "$2"; then
            { echo "$prelude"; cat "$2"; echo 'return 0; }'; } >"$2.c"
            flags="$flags -Wno-unused-variable -Wno-unused-but-set-variable"
        else
            sed "s|redis://127.0.0.1:6379|$HOLDFAST_URL|" "$2" >"$2.c"
        fi
        if [ -n "$is_program" ]; then
            # shellcheck disable=SC2086 # words
            $compiler -std=c11 -D_GNU_SOURCE $flags "$2.c" \
                $(! grep -q hf_resp.h "$2" || echo "$dir/pair/hf_resp.c") \
                -L"$build" -lholdfast -o "$2.run"
        else
            # shellcheck disable=SC2086 # words
            $compiler -std=c11 -D_GNU_SOURCE $flags -fsyntax-only "$2.c"
        fi ;;
    cpp)
        command -v g++ >/dev/null || { echo 'skipped: a sample in C++: no g++'; return; }
        sed "s|redis://127.0.0.1:6379|$HOLDFAST_URL|" "$2" >"$2.cc"
        # shellcheck disable=SC2086 # words
        g++ -std=c++17 -Wall -Wextra -I"$build/include" "$2.cc" -L"$build" -lholdfast -o "$2.run" ;;
    esac
}

resp/amalgamate.sh "$dir/pair" >/dev/null
compiled=0 ran=0 out=0
for file in "$dir"/blocks/*; do
    name=$(basename "$file")
    kind=${name##*.}
    case $kind in
    c | cpp)
        if grep -q '^#include <hiredis' "$file" && ! echo '#include <hiredis/hiredis.h>' |
            $compiler -E - >/dev/null 2>&1; then
            echo "skipped: $name: no libhiredis-dev"
            compiled=$((compiled + 1))
            continue
        fi
        compile "$kind" "$file" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; fail "$name"; }
        compiled=$((compiled + 1))
        [ ! -e "$file.run" ] || timeout 60 "$file.run" >"$dir/log" 2>&1 ||
            { cat "$dir/log" >&2; fail "$name: the program fails"; } ;;
    python)
        ! command -v python3 >/dev/null ||
            python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$file" ||
            fail "$name" ;;
    sh | lines)
        (cd "$dir/work" && timeout 60 sh -eu "$file" >"$dir/log" 2>&1) ||
            { cat "$dir/log" >&2; fail "$name: a command fails"; }
        ran=$((ran + 1)) ;;
    out) out=$((out + 1)) ;;
    text | console) ;;
    *) fail "$name: a language that is neither compiled nor run; put <!-- not run: REASON --> before it" ;;
    esac
done
[ "$compiled" -ge 9 ] && [ "$ran" -ge 10 ] || fail "only $compiled samples were compiled, and $ran run"

# Does it notice a sample that is wrong?
printf 'struct hf_scope scope = HF_SCOPE_INIT;\nscope.bodies = 0;\n' >"$dir/wrong"
! compile c "$dir/wrong" >"$dir/log" 2>&1 || fail 'it does not notice a wrong sample'
echo "pages: $compiled samples compiled, $ran run, $out left out with a reason"
