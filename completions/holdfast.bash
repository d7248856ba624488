# Completion of holdfast for bash. Made by completions/generate.pl from the help: run `make completions`.

# Sets `all`, the options of a command, and `values`, `files` and `signals`: those with a value.
_holdfast_options() {
    case $1 in
    run)
        all='-n --nonblock -w --wait --timeout -E --conflict-exit-code -c --command -s --shared -x --exclusive --fair --fenced --value --multi --quorum --allow-same-server --permits --ttl --lease --max-hold --at-least -k --kill-after --on-lost --lost-signal --status-fd --label --hide-url --dump --metrics-file --metrics-interval -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' -w --wait --timeout -E --conflict-exit-code -c --command --multi --permits --ttl --lease --max-hold --at-least -k --kill-after --on-lost --lost-signal --status-fd --label --dump --metrics-file --metrics-interval -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --dump --metrics-file --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals=' --lost-signal '
        ;;
    elect)
        all='--once --pause -c --command -x --exclusive --fair --fenced --value --multi --quorum --allow-same-server --ttl --max-hold -k --kill-after --on-lost --lost-signal --status-fd --label --hide-url --dump --metrics-file --metrics-interval -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' --pause -c --command --multi --ttl --max-hold -k --kill-after --on-lost --lost-signal --status-fd --label --dump --metrics-file --metrics-interval -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --dump --metrics-file --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals=' --lost-signal '
        ;;
    hold)
        all='--stdin -n --nonblock -w --wait --timeout -E --conflict-exit-code --ttl -s --shared -x --exclusive --fair --fenced --value --permits --label --metrics-file --metrics-interval -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' -w --wait --timeout -E --conflict-exit-code --ttl --permits --label --metrics-file --metrics-interval -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --metrics-file --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    acquire)
        all='--lease -w --wait --timeout -n --nonblock -E --conflict-exit-code -s --shared -x --exclusive --fair --fenced --value --permits --label -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' --lease -w --wait --timeout -E --conflict-exit-code --permits --label -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    renew)
        all='--lease -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' --lease -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    release)
        all='-u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    status)
        all='-u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    watch)
        all='--every --for -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' --every --for -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    ls)
        all='--kind -l --long --waiters --time --limit --rate -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' --kind --time --limit --rate -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    unlock)
        all='--owner --force --queue -y --yes -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' --owner -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    fence)
        all='-u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    semaphore)
        all='-w --wait --timeout -n --nonblock -E --conflict-exit-code --ttl -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' -w --wait --timeout -E --conflict-exit-code --ttl -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    latch)
        all='-w --wait --timeout -n --nonblock -E --conflict-exit-code -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' -w --wait --timeout -E --conflict-exit-code -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    doctor)
        all='--name --ttl --acl --for --with-kill -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' --name --ttl --for -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    bench)
        all='--time --clients --pairs --fair --value -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' --time --clients --pairs -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    slot)
        all=''
        values='  '
        files='  '
        signals='  '
        ;;
    version)
        all=''
        values='  '
        files='  '
        signals='  '
        ;;
    help)
        all=''
        values='  '
        files='  '
        signals='  '
        ;;
    *)
        all='-u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni --json -q --quiet -v --verbose -h --help'
        values=' -u --url --user --password-file --sentinel-password-file --connect-timeout --map --tls-ca --tls-cert --tls-key --tls-key-password-file --tls-sni '
        files=' --password-file --sentinel-password-file --tls-ca --tls-cert --tls-key --tls-key-password-file '
        signals='  '
        ;;
    esac
}

_holdfast() {
    local cur=${COMP_WORDS[COMP_CWORD]} command='' words=0 option='' i word
    local all values files signals
    _holdfast_options ''
    COMPREPLY=()
    # Finds the command, the number of words after it, and the option whose value is next.
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $option ]]; then
            [[ $word == = ]] || option=''
        elif [[ $values == *" $word "* ]]; then
            option=$word
        elif [[ $word == -* ]]; then
            :
        elif [[ -z $command ]]; then
            command=$word
            _holdfast_options "$command"
        else
            words=$((words + 1))
            # All that follows belongs to the command that holdfast runs.
            case $command in run|elect) [[ $words -lt 2 ]] || break ;; esac
        fi
    done
    [[ $cur != = ]] || cur=''
    if [[ -n $option ]]; then
        [[ $files != *" $option "* ]] || mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        [[ $signals != *" $option "* ]] || mapfile -t COMPREPLY < <(compgen -A signal -- "SIG${cur#SIG}")
        return
    fi
    case $command:$words:$cur in
    run:2:*|elect:2:*) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    *:-*) mapfile -t COMPREPLY < <(compgen -W "$all" -- "$cur") ;;
    run:1:*|elect:1:*) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
    semaphore:1:*) mapfile -t COMPREPLY < <(compgen -W 'set get acquire release add reduce drain resize delete' -- "$cur") ;;
    latch:1:*) mapfile -t COMPREPLY < <(compgen -W 'set down wait get delete' -- "$cur") ;;
    :*|help:0:*) mapfile -t COMPREPLY < <(compgen -W 'run elect hold acquire renew release status watch ls unlock fence semaphore latch doctor bench slot version help' -- "$cur") ;;
    esac
}

complete -F _holdfast holdfast
