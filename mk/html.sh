#!/bin/sh
# html.sh OUT MAN3: writes README, docs/ and the manual pages as HTML to the folder OUT, with the
# files to which they link. MAN3 has the manual pages of the library. Needs pandoc and mandoc.
set -eu
out=$1 man3=$2
here=$(dirname "$0")

rm -rf "$out"
mkdir -p "$out/docs" "$out/man"
cp "$here/html.css" "$out/style.css"
HTML_MANUALS=" $(cd "$man3" && echo holdfast*.3) "
export HTML_MANUALS HTML_ROOT HTML_FOLDER

for page in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md; do
    case $page in
    docs/*) HTML_ROOT=../ HTML_FOLDER=docs/ ;;
    *) HTML_ROOT='' HTML_FOLDER='' ;;
    esac
    pandoc --from gfm --to html5 --standalone --toc --toc-depth=2 --wrap=none --no-highlight \
        --template "$here/html.template" --lua-filter "$here/html.lua" \
        --variable root="$HTML_ROOT" "$page" --output "$out/${page%.md}.html"
done
cp docs/*.svg "$out/docs"

# shell TITLE <BODY: a page in a folder, without a table of contents.
shell() {
    sed -n '1,/^<div class="columns">/p' "$here/html.template" |
        sed "s|\\\$title\\\$|$1|; s|\\\$root\\\$|../|g"
    echo '<main>'
    cat
    printf '</main>\n</div>\n</body>\n</html>\n'
}

# Manual pages: mandoc writes the inside of the page, and the template the rest.
for page in docs/holdfast.1 tools/holdfast-resp.1 docs/holdfast-url.7 "$man3"/holdfast*.3; do
    name=${page##*/}
    mandoc -T html -O fragment,man=%N.%S.html "$page" |
        shell "${name%.*}(${name##*.})" >"$out/man/$name.html"
done
# Names of manual pages that are not here are not links.
perl -pi -e 'BEGIN { $dir = shift } s{<a class="Xr" href="([^"]+)">(.*?)</a>}
    { -e "$dir/$1" ? $& : "<span class=\"Xr\">$2</span>" }ge' "$out/man" "$out"/man/*.html

# The other files to which pages link, as they are.
perl -e '
    use File::Basename; use File::Copy; use File::Path;
    my ($out, %folders) = shift;
    sub add {
        my ($file) = @_;
        return if -e "$out/$file" || !-f $file;
        mkpath(dirname("$out/$file"));
        copy($file, "$out/$file") or die "$file: $!";
    }
    for my $page (@ARGV) {
        open my $in, "<", "$out/$page" or die $!;
        local $/;
        my $text = <$in>;
        my $folder = $page =~ m{^(.*/)} ? $1 : "";
        while ($text =~ /(?:href|src)="([^"#:]+)(?:#[^"]*)?"/g) {
            my $file = "$folder$1";
            1 while $file =~ s{[^/]+/\.\./}{};
            if ($file =~ s{/index\.html$}{} && -d $file) {
                $folders{$file} = 1;
                add($_) for grep { -f } glob "$file/*";
            } else {
                add($file);
            }
        }
    }
    print "$_\n" for sort keys %folders;' "$out" $(cd "$out" && find . -name '*.html' | sed 's|^\./||') |
    while read -r folder; do
        {
            echo "<h1>$folder</h1><ul>"
            for file in "$out/$folder"/*; do
                [ ! -f "$file" ] || echo "<li><a href=\"${file##*/}\">${file##*/}</a></li>"
            done
            echo '</ul>'
        } >"$out/list"
        up=$(echo "$folder" | sed 's|[^/]*|..|g')/
        shell "$folder" <"$out/list" | sed "s|href=\"\.\./|href=\"$up|g" >"$out/$folder/index.html"
        rm "$out/list"
    done
