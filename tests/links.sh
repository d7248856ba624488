#!/bin/sh
# links.sh FOLDER: each link of each HTML page in the folder leads to a file that exists, and to an
# anchor that exists. Links to other hosts are not followed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# broken FOLDER: a line for each link that leads nowhere; the number of links on the last line.
broken() {
    perl -e '
        use strict; use warnings; use File::Find;
        chdir shift or die $!;
        my (%id, %text, $links);
        find({no_chdir => 1, wanted => sub {
            return unless /\.html$/;
            (my $name = $_) =~ s{^\./}{};
            open my $in, "<", $name or die $!;
            local $/;
            $text{$name} = <$in>;
            $id{$name}{$1} = 1 while $text{$name} =~ /\bid="([^"]+)"/g;
        }}, ".");
        for my $page (sort keys %text) {
            my ($folder) = $page =~ m{^(.*/)};
            while ($text{$page} =~ /(?:href|src)="([^"]*)"/g) {
                my $link = $1;
                next if $link =~ /^(?:https?|mailto):/;
                $links++;
                my ($to, $anchor) = split /#/, $link, 2;
                my $file = $to eq "" ? $page : ($folder // "") . $to;
                1 while $file =~ s{[^/]+/\.\./}{};
                $anchor =~ s/%([0-9a-fA-F]{2})/chr hex $1/ge if defined $anchor;
                if (!-f $file) {
                    print "$page: there is no file $link\n";
                } elsif (defined $anchor && !$id{$file}{$anchor}) {
                    print "$page: there is no section $link\n";
                }
            }
        }
        print +($links // 0), "\n";' "$1"
}
broken "$1" >"$dir/found"
links=$(tail -n 1 "$dir/found")
[ "$(wc -l <"$dir/found")" -eq 1 ] || { sed '$d' "$dir/found" >&2; exit 1; }
[ "$links" -ge 500 ] || { echo "links: only $links links were found" >&2; exit 1; }

# Does it notice a file and a section that do not exist?
mkdir "$dir/page"
echo '<h1 id="a">A</h1><a href="#a"></a><a href="#b"></a><a href="none.html"></a><a href="https://x/y">' \
    >"$dir/page/index.html"
[ "$(broken "$dir/page" | grep -c 'there is no')" -eq 2 ] || { echo 'links: it misses a link' >&2; exit 1; }
echo "links: $links links lead to files and sections that exist"
