#!/bin/sh
# valgrind.sh BUILD: a client that connects, locks, loses its server, reconnects,
# unlocks and closes, without an error or a leak.
set -eu

tests/deps.sh deps-valgrind
valgrind --quiet --leak-check=full --show-leak-kinds=all --track-fds=no \
    --error-exitcode=99 "$1/tests/live/lock/test_lifecycle"
