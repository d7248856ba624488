#!/usr/bin/perl
# amalgamate.pl OUTDIR GENERATED FILE...: the whole library as holdfast.h and holdfast.c in
# OUTDIR, which can be copied into another program. GENERATED is the folder of the files that
# the build makes; each FILE is a .c file.
#
# A header of ours replaces the first include that names it; includes of the system move to
# the top. Two files may have a static name in common, so each static function, variable,
# constant, type and tag of a .c file gets the name of its file: on_answer of link.c is
# link__on_answer. Members are not renamed. A macro of a .c file ends with the file.
use strict;
use warnings;

my ($out, $generated, @files) = @ARGV;

# Files that only some programs need, and when. What they need of the system is included
# under the same condition.
my @conditions = (
    [qr{/tls_openssl}, '#ifdef HF_TLS'],     [qr{/tls_none},    '#ifndef HF_TLS'],
    [qr{/poller_poll}, '#ifdef HF_POLL'],    [qr{/poller_epoll}, '#ifndef HF_POLL'],
);

sub condition_of {
    my ($path) = @_;
    my ($found) = grep { $path =~ $_->[0] } @conditions;
    return $found ? $found->[1] : '';
}

sub slurp {
    my ($path) = @_;
    my ($file) = grep { -e } $path, "$generated/$path";
    defined $file or die "amalgamate.pl: no $path\n";
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    return scalar <$in>;
}

# ---- names ----

my $comment = qr{/\*.*?\*/}s;
my $literal = qr/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/;

# The names that a .c file defines for itself, and what each is.
sub own_names {
    my ($text) = @_;
    my (%is, $top);
    my $depth = 0;
    $text =~ s/$comment| *\\\n//g;
    $text =~ s/^#.*//mg;
    $text =~ s/$literal/""/g;
    # What is outside of all braces; of an enum also what is inside.
    for my $part (split /(?<=\})|(?=\{)/, $text) {
        $depth++ if $part =~ /^\{/;
        if (!$depth) {
            $top .= $part;
        } elsif ($top =~ /\benum\s*\w*\s*$/) {
            (my $constants = $part) =~ s/=[^,}]*//g;
            $is{$_} = 'constant' for $constants =~ /(\w+)/g;
        }
        $top .= '{}' if $part =~ /\}$/ && !--$depth;
    }
    $is{$1} = 'tag' while $top =~ /^(?:struct|union|enum)\s+(\w+)\s*\{/mg;
    $top =~ s/\b(struct|union|enum)(?:\s+\w+)?\s*\{\}/$1/g;
    while ($top =~ /^(static|typedef)\b([^;={]*)/mg) {
        my ($word, $rest) = ($1, $2);
        $rest =~ s/\b__attribute__\s*\(\(.*?\)\)//g;
        $rest =~ /\(\*(?:const )?(\w+)/ || $rest =~ /(\w+)\s*[\[(]/ || $rest =~ /(\w+)\s*$/
            or die "amalgamate.pl: no name in: $word$rest\n";
        $is{$1} = $word eq 'static' ? 'static' : 'typedef';
    }
    delete @is{grep { /^hf_/i } keys %is};
    return %is;
}

# The text of a .c file with its own names renamed.
sub renamed {
    my ($text, $prefix) = @_;
    my %is = own_names($text);
    my ($last, $before, @scopes, $new) = ('', '', 0);
    # The last argument of these is a member: it gets a dot for now.
    $text =~ s/\b((?:HF_OWNER_OF|offsetof)\([^;]*?,\s*struct \w+,\s*)(?=\w)/$1.\0/g;
    while ($text =~ /\G($comment|$literal|\s+|\w+|->|\.\.\.|.)/gs) {
        my $word = $1;
        if ($word =~ m{^(?:/\*|[\s\0])}) {
            $new .= $word;
            next;
        }
        my $is = $is{$word} // '';
        my $after_keyword = $last =~ /^(?:struct|union|enum)$/;
        $new .= "${prefix}__" if $is && $last ne '.' && $last ne '->' &&
            ($is eq 'tag' ? $after_keyword : !$after_keyword) &&
            (!$scopes[-1] || $is ne 'static');
        $new .= $word;
        push @scopes, "$before $last" =~ /(?:struct|union) \w*$/ || $last =~ /^(?:struct|union)$/
            if $word eq '{';
        pop @scopes if $word eq '}';
        ($before, $last) = ($last, $word);
    }
    $new =~ s/\.\0//g;
    return $new;
}

# ---- files ----

my (%copied, %prefix_of, $text, $includes);

# Copies a file after the headers of ours that it includes.
sub copy {
    my ($path) = @_;
    return if $copied{$path}++;
    my $source = slurp($path);
    copy($1) while $source =~ /^#include "(.*?)".*\n/mg;
    $source =~ s/^#include ".*\n//mg;
    my ($if, $undef) = (condition_of($path), '');
    if ($path =~ m{([^/]*)\.c$}) {
        my $prefix = $1;
        $prefix = "$1_$prefix" if exists $prefix_of{$prefix} && $path =~ m{([^/]*)/[^/]*$};
        die "amalgamate.pl: two files named $prefix\n" if $prefix_of{$prefix}++;
        my %macros = map { $_ => 1 } $source =~ /^#define (\w+)/mg;
        $undef = join '', map { "#undef $_\n" } sort keys %macros;
        $source = renamed($source, $prefix);
    }
    # Those within an #if stay there.
    my ($depth, $body) = (0, '');
    for my $line (split /^/, $source) {
        $depth++ if $line =~ /^# *if/ && $line !~ /^#ifndef HF_\w+_H$/;
        $depth-- if $line =~ /^# *endif/ && $depth;
        if (!$depth && $line =~ /^#include </) {
            $line = "$if\n$line#endif\n" if $if;
            $includes .= $line if index($includes, $line) < 0;
        } else {
            $body .= $line;
        }
    }
    $text .= "\n/* ---- $path ---- */\n" . ($if ? "$if\n" : '') . $body . $undef .
        ($if ? "#endif\n" : '');
}

sub begin { $text = $includes = '' }

sub write_file {
    my ($name, $all) = @_;
    $all =~ s/\n{3,}/\n\n/g;
    open my $file, '>', "$out/$name" or die "$out/$name: $!\n";
    print $file $all;
    close $file or die "$out/$name: $!\n";
}

my %number = slurp('net/version.h') =~ /^#define HF_VERSION_(\w+) (\d+)$/mg;
my $version = join '.', @number{qw(MAJOR MINOR PATCH)};
(my $licence = slurp('LICENSE')) =~ s/^(?=.)/ * /mg;
$licence =~ s/^$/ */mg;
my $head = "holdfast $version: distributed locks for Redis and Valkey, in two files. Made by\n" .
    " * mk/amalgamate.pl from the source: do not edit.\n *\n";

begin();
copy('holdfast.h');
# A program that has a copy for itself alone defines HF_API.
$text =~ s/(#if defined\(__GNUC__\)\n#define HF_API .*?#endif\n)/#ifndef HF_API\n$1#endif\n/s
    or die "amalgamate.pl: resp/base.h does not define HF_API\n";
write_file('holdfast.h', "/* holdfast.h of $head *\n" .
    " * SPDX-License-Identifier: MIT (in full in holdfast.c) */\n$includes$text");

begin();
copy($_) for @files;
write_file('holdfast.c', "/* holdfast.c of $head" . <<"HEAD" . $includes . <<'HIDDEN' . $text . <<'END');
 * Compile it as C11, with -pthread. -DHF_TLS adds TLS; link with -lssl -lcrypto then.
 * -DHF_POLL uses poll instead of epoll; -DHF_ASSERTS checks the library's own rules.
 *
$licence */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "holdfast.h"

HEAD

/* Only the functions of holdfast.h can be seen outside of a shared library. */
#ifdef __GNUC__
#pragma GCC visibility push(hidden)
#endif
HIDDEN

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
END
