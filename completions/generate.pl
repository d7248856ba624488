#!/usr/bin/perl
# generate.pl HOLDFAST FOLDER: writes the completions of holdfast for bash, zsh and fish into
# FOLDER, from what `holdfast help` prints. A line of the help that looks like an option and
# cannot be read is an error.
use strict;
use warnings;

my ($holdfast, $folder) = @ARGV;
my $made = 'Made by completions/generate.pl from the help: run `make completions`.';

# The lines that a command prints.
sub lines_of {
    open my $pipe, '-|', @_ or die "$_[0]: $!\n";
    my @lines = <$pipe>;
    close $pipe or die "@_ failed\n";
    chomp @lines;
    return @lines;
}

# The options of a help text: short and long form, name of the value, first sentence.
sub options_of {
    my (@options, $open);
    for (@_) {
        if (/^  -/) {
            /^  (?:(-\w)(?:, |(?= )))?(--[a-z-]+)?(?: ([A-Z][A-Z=]*))?(?: +(.*))?$/ && ($1 || $2)
                or die "cannot read this line of the help:\n$_\n";
            $open = {names => [grep { $_ } $1, $2], value => $3, text => $4 // ''};
            push @options, $open;
        } elsif ($open && /^ {10,}(\S.*)/) {
            $open->{text} .= ($open->{text} ? ' ' : '') . $1;
        } else {
            $open = undef;
        }
    }
    for (@options) {
        $_->{repeats} = $_->{text} =~ /repeatable/;
        $_->{text} = 'URL of the server' if ($_->{value} // '') eq 'URL';
        $_->{text} =~ s/(?:;|[.,:] | \(|[.]$).*//;
        $_->{is_file} = ($_->{value} // '') =~ /^(F|FILE)$/;
        $_->{is_signal} = ($_->{value} // '') eq 'SIG';
    }
    return @options;
}

my @commands;
for (lines_of($holdfast, 'help')) {
    next unless /^  ([a-z]+)  +(.*)/;
    my @help = lines_of($holdfast, 'help', $1);
    push @commands, {name => $1, text => $2, options => [options_of(@help)],
                     runs => scalar(grep { /\[--\] COMMAND/ } @help),
                     actions => (grep { /^usage: .* NAME ACTION$/ } @help)
                         ? join(' ', map { /^  ([a-z]+) / ? $1 : () } @help) : ''};
}
die "no commands in the help\n" unless @commands;
# The options that every command with a server has may also stand before the command.
my ($status) = grep { $_->{name} eq 'status' } @commands;
my @common = @{$status->{options}};
my $names = join ' ', map { $_->{name} } @commands;
my $runners = join '|', map { $_->{runs} ? $_->{name} : () } @commands;

sub write_file {
    my ($name, $text) = @_;
    open my $out, '>', "$folder/$name" or die "$folder/$name: $!\n";
    print $out $text;
    close $out or die "$folder/$name: $!\n";
}

# ---- bash ----

# All names of those options for which a condition holds.
sub names_if(&@) {
    my ($is, @options) = @_;
    return join ' ', map { $is->() ? @{$_->{names}} : () } @options;
}

sub bash_case {
    my ($pattern, @options) = @_;
    return "    $pattern)\n" .
        "        all='" . (names_if { 1 } @options) . "'\n" .
        "        values=' " . (names_if { $_->{value} } @options) . " '\n" .
        "        files=' " . (names_if { $_->{is_file} } @options) . " '\n" .
        "        signals=' " . (names_if { $_->{is_signal} } @options) . " '\n        ;;\n";
}

# After the lock's name comes the command that holdfast runs; then its arguments.
my $one = join '|', map { $_->{runs} ? "$_->{name}:1:*" : () } @commands;
my $many = join '|', map { $_->{runs} ? "$_->{name}:2:*" : () } @commands;
my $acts = join '', map {
    $_->{actions} ? "    $_->{name}:1:*) mapfile -t COMPREPLY < <(compgen -W '$_->{actions}' -- " .
        "\"\$cur\") ;;\n" : () } @commands;
my $cases = join '', (map { bash_case($_->{name}, @{$_->{options}}) } @commands),
    bash_case('*', @common);
write_file('holdfast.bash', <<"BASH");
# Completion of holdfast for bash. $made

# Sets `all`, the options of a command, and `values`, `files` and `signals`: those with a value.
_holdfast_options() {
    case \$1 in
$cases    esac
}

_holdfast() {
    local cur=\${COMP_WORDS[COMP_CWORD]} command='' words=0 option='' i word
    local all values files signals
    _holdfast_options ''
    COMPREPLY=()
    # Finds the command, the number of words after it, and the option whose value is next.
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=\${COMP_WORDS[i]}
        if [[ -n \$option ]]; then
            [[ \$word == = ]] || option=''
        elif [[ \$values == *" \$word "* ]]; then
            option=\$word
        elif [[ \$word == -* ]]; then
            :
        elif [[ -z \$command ]]; then
            command=\$word
            _holdfast_options "\$command"
        else
            words=\$((words + 1))
            # All that follows belongs to the command that holdfast runs.
            case \$command in $runners) [[ \$words -lt 2 ]] || break ;; esac
        fi
    done
    [[ \$cur != = ]] || cur=''
    if [[ -n \$option ]]; then
        [[ \$files != *" \$option "* ]] || mapfile -t COMPREPLY < <(compgen -f -- "\$cur")
        [[ \$signals != *" \$option "* ]] || mapfile -t COMPREPLY < <(compgen -A signal -- "SIG\${cur#SIG}")
        return
    fi
    case \$command:\$words:\$cur in
    $many) mapfile -t COMPREPLY < <(compgen -f -- "\$cur") ;;
    *:-*) mapfile -t COMPREPLY < <(compgen -W "\$all" -- "\$cur") ;;
    $one) mapfile -t COMPREPLY < <(compgen -c -- "\$cur") ;;
$acts    :*|help:0:*) mapfile -t COMPREPLY < <(compgen -W '$names' -- "\$cur") ;;
    esac
}

complete -F _holdfast holdfast
BASH

# ---- zsh ----

sub zsh_text { return $_[0] =~ s/'/'\\''/gr =~ s/([\[\]])/\\$1/gr }

sub zsh_option {
    my ($o) = @_;
    my @names = @{$o->{names}};
    my $value = !$o->{value} ? '' : $o->{is_file} ? ':file:_files'
        : $o->{is_signal} ? ':signal:_signals' : ':' . zsh_text($o->{value}) . ': ';
    my $text = '[' . zsh_text($o->{text}) . ']' . $value;
    my $alone = $o->{repeats} ? "'*'" : @names > 1 ? "'(@names)'" : '';
    return join '', map {
        my $form = !$value ? $_ : /^--/ ? "$_=" : "$_+";
        "        $alone$form'$text' \\\n" } @names;
}

my $zsh_cases = '';
for (@commands) {
    my $rest = $_->{runs} ? q{':name: ' '*:: :_normal'}
        : $_->{actions} ? "':name: ' ':action:($_->{actions})' '*:number: '"
        : $_->{name} eq 'help' ? q{':command:_holdfast_commands'} : q{'*:name: '};
    $zsh_cases .= "    ($_->{name}) _arguments -s \\\n" .
        join('', map { zsh_option($_) } @{$_->{options}}) . "        $rest ;;\n";
}
my $zsh_commands = join '', map { "        '$_->{name}:" . zsh_text($_->{text}) . "'\n" } @commands;
my $zsh_common = join '', map { zsh_option($_) } @common;
write_file('_holdfast', <<"ZSH");
#compdef holdfast
# Completion of holdfast for zsh. $made

_holdfast_commands() {
    local -a commands=(
$zsh_commands    )
    _describe command commands
}

_holdfast() {
    local curcontext=\$curcontext context state state_descr line
    typeset -A opt_args
    _arguments -C -s \\
$zsh_common        ':command:_holdfast_commands' '*:: :->rest'
    [[ \$state == rest ]] || return
    case \$line[1] in
$zsh_cases    esac
}

_holdfast "\$@"
ZSH

# ---- fish ----

sub fish_text { return $_[0] =~ s/([\\'])/\\$1/gr }

sub fish_option {
    my ($condition, $o) = @_;
    my $line = "complete -c holdfast -n '$condition'";
    $line .= /^--(.*)/ ? " -l $1" : ' -s ' . substr $_, 1 for @{$o->{names}};
    $line .= $o->{is_file} ? ' -r -F'
        : $o->{is_signal} ? ' -x -a "HUP INT QUIT KILL USR1 USR2 TERM"' : ' -x' if $o->{value};
    return "$line -d '" . fish_text($o->{text}) . "'\n";
}

my $fish = "# Completion of holdfast for fish. $made\ncomplete -c holdfast -f\n";
$fish .= "complete -c holdfast -n __fish_use_subcommand -a $_->{name} -d '" .
    fish_text($_->{text}) . "'\n" for @commands;
$fish .= fish_option('__fish_use_subcommand', $_) for @common;
for my $c (@commands) {
    $fish .= fish_option("__fish_seen_subcommand_from $c->{name}", $_) for @{$c->{options}};
    $fish .= "complete -c holdfast -n '__fish_seen_subcommand_from $c->{name}; and test " .
        "(count (commandline -opc)) -ge 3' -a '(__fish_complete_command)'\n" if $c->{runs};
    $fish .= "complete -c holdfast -n '__fish_seen_subcommand_from $c->{name}; and test " .
        "(count (commandline -opc)) -ge 3' -a '$c->{actions}'\n" if $c->{actions};
}
$fish .= "complete -c holdfast -n '__fish_seen_subcommand_from help' -a '$names'\n";
write_file('holdfast.fish', $fish);
