#!/bin/sh
# url_page.sh: docs/holdfast-url.7 has each scheme and each option of net/base/url.c and
# net/base/url_query.c, each option of other libraries with the advice of its error, and no other
# option.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# differences PAGE URL_C QUERY_C: a line for each.
differences() {
    perl -e '
        sub slurp { open my $in, "<", $_[0] or die "$_[0]: $!"; local $/; <$in> }
        sub table { my ($text, $from) = @_; $text =~ /\Q$from\E\[\] = \{(.*?)\n\};/s ? $1 : die "no table $from" }
        my ($page, $url, $query) = map { slurp($_) } @ARGV;
        my (%scheme, %option, %advice, %shown);
        %scheme = map { $_ => 1 } table($url, "schemes") =~ /\{"([a-z+-]+:\/\/)"/g;
        %option = map { $_ => 1 } table($query, "options") =~ /\{"(\w+)", (?:set|add)_/g;
        %advice = table($query, "foreign") =~ /\{"(\w+)", "([^"]*)"\}/g;
        keys %scheme && keys %option && keys %advice or die "an empty table";
        for (split /\n/, $page) {
            next unless /^\.It (.*)/;
            my ($words, $text) = split / Ta /, $1, 2;
            if (defined $text) {
                while ($words =~ /Li (\w+)(?= |$)/g) {
                    print "$1 is no option of other libraries\n" if !defined $advice{$1};
                    print "$1: the error says: $advice{$1}\n" if defined $advice{$1} && $advice{$1} ne $text;
                    delete $advice{$1};
                }
            } else {
                $shown{$1} = 1 while $words =~ /Cm (\w+)(?==| |$)/g;
            }
        }
        for (sort keys %scheme) { print "it lacks $_\n" if index($page, " $_") < 0 }
        for (sort keys %option) { print "it lacks $_\n" unless delete $shown{$_} }
        print "it lacks $_\n" for sort keys %advice;
        print "$_ is no option\n" for grep { !/^(?:on|off|yes|no|auto|both|majority|all)$/ } sort keys %shown;
    ' "$@"
}
url=net/base/url.c query=net/base/url_query.c page=docs/holdfast-url.7
differences $page $url $query >"$dir/found"
[ ! -s "$dir/found" ] || {
    sed "s|^|$page: |" "$dir/found" >&2
    exit 1
}

# Does it notice each kind of difference?
sed 's/^\.It Cm protocol=/.It Cm protocols=/; s/Li ssl_certfile Ta/Li ssl_cert Ta/; s/replaces it$/replaces that/
    s/ valkeys+sentinel/ valkey+sentinel/' $page >"$dir/page"
differences "$dir/page" $url $query >"$dir/found"
for fault in 'it lacks protocol' 'protocols is no option' 'it lacks ssl_certfile' \
    'ssl_cert is no option' 'ssl_keyfile: the error says' 'it lacks valkeys+sentinel'; do
    grep -q "^$fault" "$dir/found" || { echo "$0: it does not notice: $fault" >&2; exit 1; }
done
