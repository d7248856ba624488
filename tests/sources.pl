# sources.pl TREE: prints a line for each citation, in a comment or a document, whose target
# does not exist. tests/sources.sh lists the kinds.
use strict;
use warnings;
use File::Find;

chdir($ARGV[0] // '.') or die "$ARGV[0]: $!";
my (%file, %base, %stem, @texts);
find({no_chdir => 1, wanted => sub {
    s{^\./}{};
    if (-d && m{^(build|\.git$|fuzz/corpus$)|/(build|native/library)$}) { $File::Find::prune = 1; return }
    return unless -f;
    $file{$_} = 1;
    my ($name) = m{([^/]+)$};
    $base{$name} = 1;
    $stem{$name =~ s{\.\w+$}{}r} = 1;
    push @texts, $_;
}}, '.');

sub slurp { my ($name) = @_; open my $in, '<', $name or return ''; local $/; <$in> // '' }

# What may be cited: rules, identifiers, targets of make, sections of documents.
my (%rule, %rules, %word, %target, %anchor, %section);
my $code = qr{^(?:resp|net|lock|cli|tools|tests|bench|fuzz|examples|holdfast\.h)};

sub comments_of
{
    my ($name, $text) = @_;
    if ($name =~ /\.[ch]$/) {
        $text =~ s{(/\*.*?\*/)|(//[^\n]*)|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'|([^\n])}
                  {$1 // $2 // ''}gse;
    } elsif ($name =~ /\.lua$/) {
        $text =~ s{^(?:(.*?)(--.*)|.*)$}{$2 // ''}gme;
    } elsif ($name =~ /\.(sh|mk|awk|pl|py|plan)$|Makefile$/) {
        $text =~ s{^(?:(.*?(?:^|\s))?(\#.*)|.*)$}{$2 // ''}gme;
    } elsif ($name !~ /\.(md|1)$/) {
        return undef;
    }
    return $text;
}

sub anchors
{
    my ($name, $text) = @_;
    $text =~ s{^```.*?^```}{}gms;
    while ($text =~ /^#+ +(.*?) *$/gm) {
        (my $id = lc $1) =~ s/[^a-z0-9 _-]//g;
        $id =~ tr/ /-/;
        $anchor{"$name#$id"} = 1;
    }
}

for my $name (@texts) {
    my $text = slurp($name);
    if ($name =~ /\.[ch]$|\.lua$/ && $name =~ $code) {
        my $bare = $text;
        $bare =~ s{/\*.*?\*/|--[^\n]*}{}gs;
        $word{$1} = 1 while $bare =~ /\b([A-Za-z_]\w+)/g;
        while ($text =~ /^(?: \*|\/\*|--)? *([A-Z]{2,}-\d+)(?:  +| +)[A-Za-z`]/gm) {
            $rule{$1} = 1;
        }
    }
    if ($name =~ /\.(?:sh|mk)$/) {
        (my $bare = $text) =~ s{(^|\s)#.*}{}gm;
        $word{$1} = 1 while $bare =~ /\b(HF_\w+)/g;
    }
    if ($name =~ /\.mk$|Makefile$/) {
        while ($text =~ /^([a-z][\w .%-]*?) *:(?!=)/gm) { $target{$_} = 1 for split ' ', $1 }
    }
    anchors($name, $text) if $name =~ /\.md$/;
}
$rules{s/-.*//r} = 1 for keys %rule;

# docs/sources.md: the numbers of WIRE and of design, the short names and their sections.
my $sources = slurp('docs/sources.md');
my ($item, $part) = ('', '');
for (split /\n/, $sources) {
    ($part, $item) = ($1, '') if /^## (\w+)/;
    $section{$1} = 1 if /^\| `([^`|]+)`/;
    while (/`((?:faults|performance)[,]? [\w.]+(?:` to `\w+)?)`/g) {
        (my $cited = $1) =~ tr/,`//d;
        if ($cited =~ /^(\w+) ([A-Z])(\d+) to [A-Z](\d+)$/) {
            $section{"$1 $2$_"} = 1 for $3 .. $4;
        } else {
            $section{$cited} = 1;
        }
    }
    if ($part eq 'WIRE' || $part eq 'design') {
        $item = $1 if /^(?:- )?(\d+)[.:] /;
        $section{"$part $item"} = 1;
        $section{"$part $1"} = 1 while /\b(\Q$item\E\.\d+)/g;
    }
}
sub note { my ($name, $text, $form) = @_; $section{"$name $1"} = 1 while $text =~ /$form/g }
note('faults', slurp('docs/faults.md'), qr/^\| ([XB]\d+) \|/m);
note('rule', slurp('tests/vectors/rules.txt'), qr/^([A-Z]\d+) \|/m);
note('rule', $sources, qr/\b(V\d+) [A-Z]/);
note('rule', slurp('docs/resp-check.md'), qr/\b(T\d+)\b/);

# Names of others: tests/sources.txt.
my (%other, %used);
for (split /\n/, slurp('tests/sources.txt')) {
    next if /^#|^$/;
    my ($name) = split /\t/;
    $other{$name} = 1;
}
sub is_other { my ($name) = @_; return $other{$name} && ($used{$name} = 1) }

my ($place, $line);
sub complain { print "$place:$line: $_[0]\n" }

sub exists_file
{
    my ($name, $from) = @_;
    $name =~ s{^\./}{};
    return 1 if $file{$name} || -e $name || $name !~ m{/} && $base{$name};
    my ($folder) = $from =~ m{^(.*/)};
    my $beside = ($folder // '') . $name;
    1 while $beside =~ s{[^/]+/\.\./}{};
    return 1 if $file{$beside} || -d $beside;
    return 1 if $name =~ m{/} && grep { m{(^|/)\Q$name\E$} } keys %file;
    return 1 if $name =~ /^_/ && grep { /\Q$name\E$/ } keys %file;
    return 0 unless $name =~ /[*{]/;
    return 1 if grep { -f } glob($name), glob($beside);
    (my $form = $name) =~ s/[.]/\\./g;
    $form =~ s/\*/[^\/]*/g;
    return scalar grep { m{(^|/)$form$} } keys %file;
}

sub check_files
{
    my ($text) = @_;
    $text =~ s{https?://\S+}{}g;
    while ($text =~ m{(?<![\w/.<*\$-])((?:\.\./|\./)*[\w*{},/-][\w.*{},/-]*\.(?:c|h|lua|md|sh|awk|mk|pl|plan))\b(?![\w(])}g) {
        my $name = $1;
        next if exists_file($name, $place) || is_other($name);
        complain("there is no file $name");
    }
    while ($text =~ m{(?<![\w./-])((?:resp|net|lock|cli|tools|tests|docs|fuzz|bench|examples|mk)/[\w*./-]*\w)/?(?![\w*./-])}g) {
        my $name = $1;
        next if $name =~ /\.\w+$/ && $name =~ /\.(?:c|h|lua|md|sh|awk|mk|pl|plan)$/;
        next if -e $name || $name =~ /\*/ && glob($name) || is_other($name);
        next if grep { /^\Q$name\E\.\w+$/ } keys %file;
        complain("there is no file $name");
    }
}

sub check_tests
{
    my ($text) = @_;
    while ($text =~ m{(?<![\w/.-])(test_\w+)\b(?!\.)}g) {
        complain("there is no test $1") unless $stem{$1} || $word{$1} || is_other($1);
    }
}

sub check_rules
{
    my ($text) = @_;
    while ($text =~ /(?<![\w-])([A-Z]{2,})-(\d+)\b(?!-)/g) {
        my $id = "$1-$2";
        next if $rule{$id} || is_other($1) || is_other($id);
        complain("there is no rule $id");
    }
    while ($text =~ /\brules? ((?:[A-Z]\d*(?:,| to| and)? ?)+)/g) {
        my $list = $1;
        while ($list =~ /([A-Z]\d+)/g) {
            complain("there is no rule $1") unless $section{"rule $1"} || is_other($1);
        }
    }
}

my $number = qr{(?:[BCGSTX])?\d+(?:\.\d+)*};
sub check_sections
{
    my ($text) = @_;
    while ($text =~ /\b(WIRE|design|faults|performance)(?:\.md)?,?[\s*]+($number(?:(?:,| and| to|;)[\s*]+$number)*)/g) {
        my ($name, $list) = ($1, $2);
        while ($list =~ /($number)/g) {
            complain("there is no section $name $1") unless $section{"$name $1"} || is_other("$name $1");
        }
    }
    while ($text =~ /\b([A-Z][A-Z0-9-]+) "[A-Z][a-z]/g) {
        complain("docs/sources.md does not name $1") unless $section{$1} || is_other($1);
    }
}

# net.h "links": the file contains the quoted words.
sub check_parts
{
    my ($text) = @_;
    while ($text =~ m{(?<![\w/])([\w/]+\.h) "([a-z][^"]*)"}g) {
        my ($name, $part) = ($1, $2);
        my ($path) = grep { m{(^|/)\Q$name\E$} } sort keys %file;
        next if !$path || slurp($path) =~ /\Q$part\E/i;
        complain("$name has no part $part");
    }
}

sub check_links
{
    my ($text) = @_;
    return unless $place =~ /\.md$/;
    while ($text =~ /\]\(([^)\s]*)\)/g) {
        my ($to, $id) = split /#/, $1, 2;
        next if $to =~ /^https?:/;
        my $page = $to eq '' ? $place : ($place =~ m{^(.*/)} ? $1 : '') . $to;
        1 while $page =~ s{[^/]+/\.\./}{};
        if ($to ne '' && !-e $page) {
            complain("there is no file $page");
        } elsif (defined $id && $page =~ /\.md$/ && !$anchor{"$page#$id"}) {
            complain("$page has no section #$id");
        }
    }
}

sub check_targets
{
    my ($text) = @_;
    while ($text =~ /`(?:make|make -s) ([a-z][\w-]*)[^`]*`|^#: make ([a-z][\w-]*)/g) {
        my $name = $1 // $2;
        next if $target{$name} || $target{$name =~ s/-.*/-%/r} || is_other("make $name");
        complain("there is no target $name");
    }
}

sub check_functions
{
    my ($text) = @_;
    while ($text =~ /(?<![\w.\/"-])(hf_\w*[a-z0-9])(?![\w*.]|\()(?!\.\.\.)/gi) {
        my $name = $1;
        next if $word{$name} || $stem{$name} || is_other($name);
        complain("there is no $name");
    }
}

for my $name (sort @texts) {
    next if $name eq 'CHANGELOG.md' || $name eq 'tests/sources.txt' || $name =~ m{^tests/mutants/};
    my $text = comments_of($name, slurp($name));
    next unless defined $text;
    ($place, $line) = ($name, 0);
    # The numbers of a section may be at the beginning of the next line.
    my @line = split /\n/, $text, -1;
    for my $i (0 .. $#line) {
        $line = $i + 1;
        next if $line[$i] !~ /\S/;
        check_files($line[$i]);
        check_tests($line[$i]);
        check_rules($line[$i]);
        check_parts($line[$i]);
        check_links($line[$i]);
        check_targets($line[$i]);
        check_functions($line[$i]);
        my $next = $line[$i] =~ /\b(?:WIRE|design|faults|performance),?$|[;,]$/ ? $line[$i + 1] // '' : '';
        $next =~ s{^ *(\*|--|#)? *}{ };
        check_sections($line[$i] . ($next =~ /^( [\d.,]+)/ ? $1 : ''));
    }
}
for (sort keys %other) {
    ($place, $line) = ('tests/sources.txt', 0);
    complain("nothing cites $_: remove it") unless $used{$_};
}
