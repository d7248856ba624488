#!/usr/bin/perl
# layout.pl HEADER...: writes a C program that prints the size of each public struct, the place
# of each member, and the value of each enumerator. What it prints is the binary interface as
# far as headers define it; tests/abi/layout.txt has it.
use strict;
use warnings;

my ($text, @lines) = ('');
for my $file (@ARGV) {
    open my $in, '<', $file or die "$file: $!\n";
    local $/;
    $text .= <$in>;
}
$text =~ s{/\*.*?\*/}{}gs;
$text =~ s{\\\n}{ }g;

# The members of a struct's body, without those of structs and unions in it.
sub members {
    my ($body) = @_;

    1 while $body =~ s/\{[^{}]*\}//s;
    return map {
        /\(\s*\*\s*(\w+)\s*\)/ ? $1 : /:\s*\d+\s*$/ ? () : /(\w+)\s*(?:\[[^;]*\])?\s*$/ ? $1 : ()
    } split /;/, $body;
}

while ($text =~ /^struct (hf_\w+) (\{(?:[^{}]|(?2))*\});/gm) {
    my ($name, $body) = ($1, substr $2, 1, -1);

    push @lines, qq{print("struct $name", sizeof(struct $name));};
    push @lines, map { qq{print("  $name.$_", offsetof(struct $name, $_));} } members($body);
}
while ($text =~ /^enum(?: hf_\w+)? \{([^{}]*)\}/gm) {
    my $body = $1;

    next if $body =~ /_MAP\(/;
    push @lines, map { /^\s*(HF_\w+)/ ? qq{print("$1", (size_t)$1);} : () } split /,/, $body;
}
push @lines, map { qq{print("$_", (size_t)$_);} } $text =~ /\bX\((HF_\w+), -?\d+,/g;
die "no struct, or no enumerator\n" unless grep(/struct/, @lines) && grep(/"HF_/, @lines);

print <<'END', (map { "    $_\n" } @lines), <<'END';
#include <holdfast/holdfast.h>
#include <stdio.h>

static void print(const char *what, size_t number)
{
    printf("%s %lld\n", what, (long long)number);
}

int main(void)
{
END
    return 0;
}
END
