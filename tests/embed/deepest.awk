# Reads a call graph with frames (gcc -fcallgraph-info=su) that has no loop;
# prints the chains of calls that take the most stack: of all, and of those
# that begin at hf_resp_parse. libc's own frames are not known and count 0;
# each call adds 8 bytes for the return address.
BEGIN { FS = "\"" }

/^node:/ && match($4, /[0-9]+ bytes/) {
    frame[$2] = substr($4, RSTART, RLENGTH) + 0
}

/^edge:/ { callees[$2] = callees[$2] $4 "\n" }

# Bytes of the deepest chain that begins at `name`.
function deepest(name,    list, n, i, below) {
    if (name in depth)
        return depth[name]
    depth[name] = frame[name] + 8
    n = split(callees[name], list, "\n")
    for (i = 1; i < n; i++) {
        below = deepest(list[i]) + frame[name] + 8
        if (below > depth[name]) {
            depth[name] = below
            next_of[name] = list[i]
        }
    }
    return depth[name]
}

function print_chain(name,    chain, short, bytes) {
    bytes = deepest(name)
    for (; name != ""; name = next_of[name]) {
        short = name
        sub(/.*:/, "", short)
        chain = chain (chain == "" ? "" : " > ") short
    }
    print "embed: stack: " bytes " bytes by " chain
}

END {
    for (name in frame)
        if (deepest(name) > most) {
            most = deepest(name)
            first = name
        }
    print_chain(first)
    print_chain("hf_resp_parse")
}
