#!/usr/bin/env bash
# Trains on plain hosts that this machine reaches by SSH, and on none of them afterwards:
#
#     examples/cluster/ssh.sh "host1 host2 host3" 10.0.0.5 train pong --minutes 30
#
# The first argument are the hosts, the second this machine's own address, the rest is what hogwild is to do. Hogwild has
# to be installed in the same place everywhere ($HOGWILD, by default `hogwild` on the path).
set -euo pipefail
hosts=$1 here=$2
shift 2
hogwild=${HOGWILD:-hogwild}
ssh=${SSH:-ssh}
# One secret for this training alone, in a file of its own everywhere.
name=.ray/token-$(hostname)-$$
export RAY_AUTH_TOKEN_PATH=$HOME/$name

finish() {
    kill $(jobs -p) 2>/dev/null || true
    wait
    for host in $hosts; do $ssh "$host" "rm -f ~/$name" < /dev/null || true; done
    rm -f "$RAY_AUTH_TOKEN_PATH"
}
"$hogwild" node --head --host "$here" --cores 0 &
trap finish EXIT
until (: < "/dev/tcp/$here/6379") 2>/dev/null; do kill -0 $! && sleep 0.5; done

for host in $hosts; do
    # The token travels on standard input: arguments can be seen by everybody on a machine.
    $ssh "$host" "umask 077; mkdir -p ~/.ray; cat > ~/$name" < "$RAY_AUTH_TOKEN_PATH"
    $ssh -tt "$host" "RAY_AUTH_TOKEN_PATH=~/$name $hogwild node $here:6379" < /dev/null > /dev/null & # -tt: it ends when we do
done

"$hogwild" "$@" --engine ray --address "$here:6379"
