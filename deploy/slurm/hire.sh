#!/bin/bash
# Submits workers (worker.sbatch) while jobs wait that nobody trains: as many as there are packs for, less those that are on their way. They
# leave by themselves when there is no work. It looks once; docs/howto/slurm.md says how to have it look every minute.
#
#   deploy/slurm/hire.sh MOST [OPTIONS of sbatch] [-- OPTIONS of 'longreach-worker run']
#
# MOST is how many workers there may be at a time, those that wait in Slurm's queue among them.
#
# From the environment, beside what worker.sbatch takes:
#   LONGREACH_READER_CERTIFICATE, LONGREACH_READER_KEY or LONGREACH_READER_TOKEN_FILE
#                               with which it looks at the scheduler, as a worker's may not; role reader is enough
#   LONGREACH_CLIENT            the program `longreach`, if it is not on the PATH
#   LONGREACH_HIRE_NAME         the name of Slurm's jobs, by which it knows them again; default: longreach-worker
set -euo pipefail
refuse() { echo "hire.sh: $1" >&2; exit 2; }
usage="give the most workers that there may be: deploy/slurm/hire.sh MOST [OPTIONS of sbatch] [-- OPTIONS of 'longreach-worker run']"
most=${1-}
[[ $most =~ ^[1-9][0-9]{0,4}$ ]] || refuse "'$most' is no number from 1 to 99999; $usage"
shift
: "${LONGREACH_SCHEDULER:?is not set: host:port of the scheduler}"

slurm_options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do slurm_options+=("$1"); shift; done
if [ $# -gt 0 ]; then shift; fi
# How many packs a worker takes.
packs=1
previous=
for word in "$@"; do
  case $previous in --packs) packs=$word ;; esac
  case $word in --packs=*) packs=${word#*=} ;; esac
  previous=$word
done
[[ $packs =~ ^[1-9][0-9]?$ && $packs -le 64 ]] || refuse "--packs '$packs' is no number from 1 to 64"

client=("${LONGREACH_CLIENT:-longreach}")
looking=(--scheduler "$LONGREACH_SCHEDULER")
if [ -n "${LONGREACH_READER_CERTIFICATE-}" ]; then
  looking+=(--certificate "$LONGREACH_READER_CERTIFICATE" --key "${LONGREACH_READER_KEY:?is not set: the key of LONGREACH_READER_CERTIFICATE}")
  # The workers' own, which would be shown, too, and count more than a certificate.
  client=(env -u LONGREACH_TOKEN -u LONGREACH_TOKEN_FILE "${client[@]}")
fi
if [ -n "${LONGREACH_READER_TOKEN_FILE-}" ]; then looking+=(--token-file "$LONGREACH_READER_TOKEN_FILE"); fi
ask() { "${client[@]}" "$@" "${looking[@]}"; }

# One at a time: two that looked at the same moment would both submit what is missing. The second looks when the first has submitted. By a file in the home folder, which a cluster's nodes share.
name=${LONGREACH_HIRE_NAME:-longreach-worker}
locks=${XDG_STATE_HOME:-${HOME:?is not set}/.local/state}/longreach
mkdir -p "$locks"
lock=$locks/hire-${name//\//_}.lock
exec 9>>"$lock"
flock --wait 60 --conflict-exit-code 75 9 || {
  if [ $? -eq 75 ]; then refuse "another hire.sh has had $lock for a minute; whoever looks next submits what is missing"; fi
  refuse "'$lock' cannot be locked; set XDG_STATE_HOME to a folder on a file system that knows locks"
}

# With its format, which the environment or a config file may set otherwise.
waiting=$(ask workers --waiting -o table)
[[ $waiting =~ ^[0-9]+$ ]] || refuse "'$waiting' is no number of packs; is LONGREACH_CLIENT the program longreach?"
if [ "$waiting" -eq 0 ]; then exit 0; fi

# Those that Slurm has: of one that waits the job's number is its array's, of one that runs its own, which its worker's name ends with.
tasks=$(squeue --noheader --array --user "$(id -un)" --name "$name" --states PENDING,CONFIGURING,RUNNING,SUSPENDED --format '%T %A')
workers=$(ask workers -o csv)
# Tasks, those that no worker has come from yet, and a worker that does nothing. Columns: id, name, state, device, threads, pack limit, seen, what it does.
# A device's name mostly has a comma ("AMD EPYC, AVX-512"), and stands in quotes then.
read -r have coming idle < <(awk -F, '
  NR == FNR { gsub(/"[^"]*"/, "quoted"); if (NF >= 9) { job = $2; sub(/.*-/, "", job); there[job] = $2; does[job] = $3 == "active" && $8 == "" ? "nothing" : "something" } next }
  NF > 0 { split($0, task, " "); have++; if (task[1] == "PENDING" || !(task[2] in there)) coming++; else if (does[task[2]] == "nothing") idle = there[task[2]] }
  END { print have + 0, coming + 0, idle }' <(echo "$workers") <(echo "$tasks"))
if [ -n "$idle" ]; then
  echo "hire.sh: $waiting packs wait, and the worker $idle does nothing: such workers cannot train them, and none is submitted; 'longreach explain JOB' says why" >&2
  exit 0
fi

more=$(( (waiting + packs - 1) / packs - coming ))
room=$(( most - have ))
if [ "$more" -gt "$room" ]; then more=$room; fi
if [ "$more" -le 0 ]; then exit 0; fi
# An array without elements is no variable to bash before 4.4.
job=$(sbatch --parsable ${slurm_options[@]+"${slurm_options[@]}"} --job-name "$name" --array "0-$((more - 1))" "$(dirname "${BASH_SOURCE[0]}")/worker.sbatch" "$@")
echo "$waiting packs wait, $have of $most workers are there or on their way: $more more (Slurm's job ${job%%;*})"
