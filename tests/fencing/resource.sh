#!/bin/sh
# resource.sh KIND setup            an empty resource
#             KIND read             its value
#             KIND write TOKEN VALUE      by the checker of examples/fencing/
#             KIND blind TOKEN VALUE      without: what a resource does that has none
# `write` ends with 0: written, 3: refused, anything else: an error. KIND is c,
# redis, postgresql, sqlite, postgresql-row or sqlite-row. From the environment:
# HF_FENCING_DIR, a folder; HF_FENCING_C, the folder of fenced_write; HF_FENCING_PG,
# that of PostgreSQL's socket; HOLDFAST_URL, the Redis server. HF_FENCING_INSIDE, a
# command to run between check and write, where those are two statements;
# HF_FENCING_PATIENCE, how many ms to wait for those who are between.
set -u

kind=$1 action=$2 token=${3-0} value=${4-}
from=examples/fencing
file=$HF_FENCING_DIR/$kind
inside=${HF_FENCING_INSIDE:-:} patience=${HF_FENCING_PATIENCE:-30000}

redis() { redis-cli -u "$HOLDFAST_URL" --raw -e "$@"; }

postgresql() {
    PGOPTIONS="-c client_min_messages=warning -c lock_timeout=$patience" psql -X -q -A -t -h "$HF_FENCING_PG" -U postgres -d postgres \
        -v ON_ERROR_STOP=1 -v VERBOSITY=verbose \
        -v token="$token" -v state="'$value'" "$@" 2>&1
}

sqlite() {
    sqlite3 -batch -bail -cmd ".timeout $patience" -cmd ".parameter set :token $token" \
        -cmd ".parameter set :state \"'$value'\"" "$file" 2>&1
}

# refused_if PART TEXT: ends with 3 if the text has the part, else with 1.
refused_if() {
    echo "$2" >&2
    case $2 in *"$1"*) exit 3 ;; esac
    exit 1
}

# changed N: ends with 0 if one row (or key) was changed, with 3 if none was.
changed() {
    case $1 in 1) exit 0 ;; 0) exit 3 ;; esac
    echo "$1" >&2
    exit 1
}

orders='CREATE TABLE orders (id integer PRIMARY KEY, state text,
        token bigint NOT NULL DEFAULT 0);
    INSERT INTO orders (id, state) VALUES (42, NULL);'
update='UPDATE orders SET state = :state WHERE id = 42;'

case $kind:$action in
c:setup) rm -f "$file.fence"; : >"$file" ;;
c:read) cat "$file" ;;
c:write) exec "$HF_FENCING_C/fenced_write" "$file" "$token" "$value" ;;
c:blind) printf %s "$value" >"$file" ;;

redis:setup) redis del 'fence:{order:42}' 'state:{order:42}' >/dev/null ;;
redis:read) redis get 'state:{order:42}' ;;
redis:write)
    changed "$(redis eval "$(cat $from/fence.lua)" 2 'fence:{order:42}' \
        'state:{order:42}' "$token" "$value" 2>&1)" ;;
redis:blind) redis set 'state:{order:42}' "$value" >/dev/null ;;

postgresql*:setup)
    { echo 'DROP TABLE IF EXISTS fence, orders;'
      echo 'DROP FUNCTION IF EXISTS fence_check;'
      echo "$orders"
      cat $from/fence.postgresql.sql; } |
        postgresql ;;
postgresql*:read) echo 'SELECT state FROM orders;' | postgresql ;;
postgresql:write)
    text=$(postgresql <<END
BEGIN;
SELECT fence_check('order:42', :token);
\\! $inside
$update
COMMIT;
END
    ) || refused_if HF001 "$text" ;;
postgresql-row:write)
    changed "$({ cat $from/fence.row.sql; printf '%s\n' '\echo :ROW_COUNT'; } |
        postgresql)" ;;
postgresql*:blind) echo "$update" | postgresql ;;

sqlite*:setup)
    rm -f "$file" "$file-journal"
    { echo "$orders"; cat $from/fence.sqlite.sql; } | sqlite ;;
sqlite*:read) echo 'SELECT state FROM orders;' | sqlite ;;
sqlite:write)
    text=$(sqlite <<END
BEGIN IMMEDIATE;
INSERT INTO fence VALUES ('order:42', :token)
    ON CONFLICT (resource) DO UPDATE SET token = excluded.token;
.shell $inside
$update
COMMIT;
END
    ) || refused_if 'fencing token is too old' "$text" ;;
sqlite-row:write)
    changed "$({ cat $from/fence.row.sql; echo 'SELECT changes();'; } | sqlite)" ;;
sqlite*:blind) echo "$update" | sqlite ;;

*) echo "$0: what is $kind $action?" >&2; exit 2 ;;
esac
