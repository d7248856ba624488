#!/bin/sh
# resp_seeds.sh FOLDER: writes one seed for each line of tests/vectors/resp.txt,
# as fuzz_resp_parse takes them: four bytes of choices, then the vector's own.
set -eu

mkdir -p "$1"
# From the notation of the vectors to that of printf %b; long runs are cut, a
# fuzzer learns nothing from them.
awk -F ' [|] ' 'function digit(c) { return index("0123456789abcdef", c) - 1 }
!/^#/ {
    bytes = $4
    while (match(bytes, /@\{[0-9]+\*[^}]*\}/)) {
        run = substr(bytes, RSTART + 2, RLENGTH - 3)
        star = index(run, "*")
        count = substr(run, 1, star - 1) + 0
        text = ""
        for (i = 0; i < count && i < 70; i++)
            text = text substr(run, star + 1)
        bytes = substr(bytes, 1, RSTART - 1) text \
                substr(bytes, RSTART + RLENGTH)
    }
    while (match(bytes, /\\x[0-9a-f][0-9a-f]/)) {
        byte = digit(substr(bytes, RSTART + 2, 1)) * 16 \
             + digit(substr(bytes, RSTART + 3, 1))
        bytes = substr(bytes, 1, RSTART - 1) sprintf("\\0%03o", byte) \
                substr(bytes, RSTART + 4)
    }
    gsub(/\\s/, " ", bytes)
    gsub(/\\p/, "|", bytes)
    choices = $3 == "2" ? "\\0006" : "\\0004"
    print $1, choices "\\0002\\0001\\0000" bytes
}' tests/vectors/resp.txt |
while IFS= read -r line; do
    printf '%b' "${line#* }" >"$1/${line%% *}"
done
