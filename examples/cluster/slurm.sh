#!/usr/bin/env bash
# One job on several nodes of a SLURM cluster; the first of them learns:
#
#     sbatch --nodes 4 examples/cluster/slurm.sh train pong --minutes 30
#
#SBATCH --job-name=hogwild
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
set -euo pipefail
hogwild=${HOGWILD:-hogwild}
# One secret for this job alone, in the home folder that all nodes share.
export RAY_AUTH_TOKEN_PATH=$HOME/.ray/token-$SLURM_JOB_ID
here=$(hostname --ip-address | awk '{print $1}')

"$hogwild" node --head --host "$here" &
trap 'kill $(jobs -p) 2>/dev/null || true; rm -f "$RAY_AUTH_TOKEN_PATH"; wait' EXIT
until (: < "/dev/tcp/$here/6379") 2>/dev/null; do kill -0 $! && sleep 0.5; done

if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then
    srun --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks=$((SLURM_JOB_NUM_NODES - 1)) --exclude="$SLURMD_NODENAME" \
        "$hogwild" node "$here:6379" &
fi
"$hogwild" "$@" --engine ray --address "$here:6379"
