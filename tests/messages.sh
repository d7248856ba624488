#!/bin/sh
# messages.sh: each message that docs/messages.md quotes is in the source, and each message of the
# files below is quoted there.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
page=docs/messages.md

# The messages of these files are complete in the page.
complete='lock/lock.h lock/machine/lease.c lock/script/patience.c lock/script/call_end.c
    lock/record/orphan.c lock/record/hold.c lock/record/on_wait.c lock/script/missing_command.c
    net/link/handshake.c net/link/link.c net/link/link_error.c net/link/link_login.c
    net/link/link_handshake_mode.c net/link/link_rival.c net/route/server.c net/route/router.c
    net/route/replace.c net/route/discover.c net/route/topology_replicas.c
    net/route/topology_sentinel.c
    cli/base/secret.c cli/base/password_file.c cli/base/wait_report.c
    cli/run/events.c cli/run/session.c cli/run/round.c cli/run/hold_outer.c cli/run/locks.c
    cli/run/notify.c cli/run/reload.c cli/lock/handle.c cli/lock/renew.c'

# PAGE SOURCE-FILES...: prints what is quoted and not in the source, and what is not quoted.
cat >"$dir/compare.pl" <<'PERL'
use strict;
use warnings;
my ($page_name, $complete) = (shift, shift);
my (@source, %of);

sub strings
{
    my ($name) = @_;
    open my $in, '<', $name or die "$name: $!";
    local $/;
    my $text = <$in>;
    $text =~ s{/\*.*?\*/}{}gs;
    $text =~ s{^#include.*}{}mg;
    $text =~ s{"\s*\\?\s*\n\s*"}{}g;       # strings of several lines
    $text =~ s{"\s*(?:CLI_ENV_(\w+)|PRI\w+)\s*"}{$1 ? "HOLDFAST_$1" : '%d'}ge;
    $text =~ s{\bCLI_ENV_(\w+)\s*"}{"HOLDFAST_$1}g;
    $text =~ s{"\s*\n?\s*CLI_ENV_(\w+)(?=[\s,)])}{HOLDFAST_$1"}g;
    my @found;
    while ($text =~ /"((?:[^"\\\n]|\\.)*)"/g) {
        my $string = $1;
        $string =~ s{\\(.)}{$1 eq 'n' ? ' ' : $1}ge;
        $string =~ s{^holdfast: | $}{}g;
        $string =~ s{%[-0-9.*]*(?:ll|z|h)*[a-z]}{...}g;
        push @found, $string;
    }
    return @found;
}

sub pieces { return grep { /\w.*\w.*\w/ } map { s/^[\s;:,(]+|[\s;:,(]+$//gr } split /\.\.\./, $_[0] }

for my $name (@ARGV) {
    $of{$name} = [strings($name)];
    push @source, @{$of{$name}};
}
my $all = join "\n", @source;

open my $in, '<', $page_name or die $!;
my @page = <$in>;
my @quoted;
for my $i (0 .. $#page) {
    next unless $page[$i] =~ /^\| [^|]*`/;
    my ($first, $second) = $page[$i] =~ /^\| (.*?) \| (.*?) \|/;
    for my $message ($first =~ /`([^`]+)`/g) {
        next if $message =~ /^-\w$/;
        push @quoted, $message;
        for my $piece (pieces($message)) {
            next if index($all, $piece) >= 0;
            next if $piece =~ /^(?:Connection refused|Name or service not known)$/; # of libc
            print "$page_name:", $i + 1, ": no message has '$piece'\n";
        }
    }
    push @quoted, $second =~ /`([^`]+)`/g if defined $second;
}
my $page = join "\n", @quoted, @page;
for my $name (split ' ', $complete) {
    die "$name is not searched" unless $of{$name};
    for my $string (@{$of{$name}}) {
        # Texts of servers, helps, and parts of a line of -v are not messages.
        next if $string =~ /^(?:ERR |The user |NO|upstream|no upstream|usage: |extend |unexpected arg)/ ||
            $string =~ /^\((?:words)|^allowed in|^a line must fit|^the callback gave|^NAME and HANDLE/ ||
            $string =~ /(?:is|stays) held by the outer run$|^the command (?:was )?ended/;
        next unless grep { my @w = split ' '; @w >= 4 } pieces($string);
        my $missing = grep { index($page, $_) < 0 } grep { my @w = split ' '; @w >= 3 } pieces($string);
        print "$page_name: it does not explain '$string' ($name)\n" if $missing;
    }
}
PERL
sources=$(find lock net cli -name '*.[ch]')
# shellcheck disable=SC2086 # words
perl "$dir/compare.pl" "$page" "$complete" $sources >"$dir/found"
[ ! -s "$dir/found" ] || { cat "$dir/found" >&2; exit 1; }

# Does it notice a message that was changed, and one that is not explained?
sed 's/the server is loading its data/the server is reading its data/' "$page" >"$dir/page"
# shellcheck disable=SC2086 # words
perl "$dir/compare.pl" "$dir/page" "$complete" $sources >"$dir/found"
for text in "no message has 'the server is reading its data'" \
    "it does not explain 'the server is loading its data'"; do
    grep -qF "$text" "$dir/found" || { echo "$0: it does not notice: $text" >&2; exit 1; }
done
