#!/usr/bin/perl
# version.pl older|newer FROM TO: copies the installed headers in FROM to TO as another version of
# holdfast has them. In the older one, each struct that grows ends before its last members; in
# the newer one, it has one more: later_member.
use strict;
use warnings;

my ($which, $from, $to) = @ARGV;
# The members that the older version does not have: from this one on.
my %first = (
    hf_loop_options => 'thread',        hf_credentials => 'expires_in_ms',
    hf_client_options => 'map_address', hf_client_closed => 'holds',
    hf_client_stats => 'pushes',        hf_lock_info => 'first_waiter_len',
    hf_acquire_options => 'on_lost',    hf_election_options => 'on_trouble',
    hf_scope => 'on_exit',              hf_trace => 'why',
    hf_credentials_query => 'was_refused', hf_metrics_options => 'name',
);
my %grows = %first;

sub shorten {
    my ($name, $body) = @_;

    $body =~ s/^ {4}[a-z][^;\/]*\b\Q$first{$name}\E\b.*\z//ms
        or die "struct $name has no member $first{$name}\n";
    $body =~ s{/\*(?:(?!\*/).)*\z}{}s;
    return $body;
}

sub change {
    my ($name, $body) = @_;

    return "struct $name {$body};" unless exists $grows{$name};
    $body =~ /\A(?:\s|\/\*.*?\*\/)*size_t size;/s or die "struct $name does not begin with size\n";
    delete $first{$name} if $which ne 'older';
    $body = $which eq 'older' ? shorten($name, $body) : "$body    int64_t later_member;\n";
    delete $first{$name};
    return "struct $name {$body};";
}

for my $file (split /\n/, `cd '$from' && find . -name '*.h'`) {
    my ($folder) = "$to/$file" =~ m{(.*)/};
    local $/;

    system('mkdir', '-p', $folder) == 0 or die;
    open my $in, '<', "$from/$file" or die "$from/$file: $!\n";
    my $text = <$in>;
    # Each struct whose first member is `size` is in the list.
    while ($text =~ /^struct (hf_\w+) \{(?:\s|\/\*.*?\*\/)*size_t size;/gms) {
        die "struct $1 grows, and is not in version.pl\n" unless $grows{$1};
    }
    $text =~ s/^struct (hf_\w+) \{(.*?)^\};/change($1, $2)/gmse;
    open my $out, '>', "$to/$file" or die "$to/$file: $!\n";
    print $out $text;
    close $out or die "$to/$file: $!\n";
}
die "not found: ", join(' ', sort keys %first), "\n" if %first;
