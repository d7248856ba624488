#!/bin/bash
# completions.sh HOLDFAST: the files of completions/ are what the command's help says, and
# bash, zsh and fish (each if it is installed) accept them and complete words by them.
set -euo pipefail
holdfast=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "completions: $*" >&2; exit 1; }

completions/generate.pl "$holdfast" "$dir"
for file in holdfast.bash _holdfast holdfast.fish; do
    cmp -s "$dir/$file" "completions/$file" ||
        fail "completions/$file is not what the help says: make completions"
done

# A help text that cannot be read is an error, and so is a program without commands.
printf '#!/bin/sh\necho "  run  text"\n[ "$1 $#" = "help 1" ] || echo "  --Ttl=D  text"\n' >"$dir/odd"
printf '#!/bin/sh\ntrue\n' >"$dir/mute"
chmod +x "$dir/odd" "$dir/mute"
! completions/generate.pl "$dir/odd" "$dir" 2>/dev/null || fail 'an option was not read'
! completions/generate.pl "$dir/mute" "$dir" 2>/dev/null || fail 'no command was found'

# bash_gives WORD... WANTED: is WANTED among the completions of the last word? -: are there none?
# shellcheck source=/dev/null
. completions/holdfast.bash
bash_gives() {
    local wanted=${*: -1}
    COMP_WORDS=(holdfast "${@:1:$#-1}") COMP_CWORD=$(($# - 1))
    _holdfast
    case $wanted in
    -) [ ${#COMPREPLY[@]} -eq 0 ] ;;
    *) printf '%s\n' "${COMPREPLY[@]}" | grep -xF -- "$wanted" >/dev/null ;;
    esac || fail "bash: holdfast ${*:1:$#-1}: no $wanted, but ${COMPREPLY[*]:-nothing}"
}
bash_gives r run
bash_gives -u redis://a el elect
bash_gives --u --url
bash_gives run --t --ttl
bash_gives run --ttl 3 -
bash_gives run --ttl = 3 -
bash_gives run --ttl 30s --fen --fenced
bash_gives run --ttl = 30s --fen --fenced
bash_gives run --lost-signal TE SIGTERM
bash_gives run --tls-ca READM README.md
bash_gives run --tls-ca = READM README.md
bash_gives run x gre grep
bash_gives run x -- gre grep
bash_gives run x grep -x READM README.md
bash_gives run x grep --tt -
bash_gives status a b --js --json
bash_gives status --tt -
bash_gives help doc doctor
bash_gives semaphore pool acq acquire
bash_gives latch doors wa wait
bash_gives latch doors wait '' -
bash_gives latch doors wait --ti --timeout

if command -v fish >/dev/null; then
    fish_gives() { # LINE WANTED
        HOME=$dir fish -N -c "source completions/holdfast.fish; complete -C'holdfast $1'" 2>&1 |
            cut -f 1 | grep -xF -- "$2" >/dev/null || fail "fish: holdfast $1: no $2"
    }
    fish_gives 'el' elect
    fish_gives 'run --tt' --ttl
    fish_gives 'semaphore pool acq' acquire
    fish_gives 'run --tls-ca READM' README.md
    ! (fish_gives 'status --tt' --ttl) 2>/dev/null || fail 'fish: status has --ttl'
fi
if command -v zsh >/dev/null; then
    zsh -n completions/_holdfast || fail 'zsh: a syntax error'
fi
