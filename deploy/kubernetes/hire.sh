#!/bin/bash
# Makes workers in Kubernetes while jobs wait that nobody trains, each a Job of its own: as many as there are packs for, less those that are on
# their way. They leave by themselves when there is no work. It looks once; docs/howto/kubernetes.md says how to have it look every minute.
#
#   deploy/kubernetes/hire.sh MOST MANIFEST [OPTIONS of kubectl]
#
# MOST is how many workers there may be at a time, those that wait for a node among them. MANIFEST is worker.yaml, or your copy of it.
#
# It asks the scheduler as any client does: address and credentials are those of the environment or of the client's config file. Also from the
# environment:
#   LONGREACH_CLIENT            the program `longreach`, if it is not on the PATH
#   LONGREACH_HIRE_NAME         the label `app` of the Jobs, by which it knows them again; default: longreach-worker
set -euo pipefail
refuse() { echo "hire.sh: $1" >&2; exit 2; }
usage="deploy/kubernetes/hire.sh MOST MANIFEST [OPTIONS of kubectl]"
most=${1-}
[[ $most =~ ^[1-9][0-9]{0,4}$ ]] || refuse "'$most' is no number from 1 to 99999; give the most workers that there may be: $usage"
manifest=${2-}
[ -f "$manifest" ] || refuse "'$manifest' cannot be read; give deploy/kubernetes/worker.yaml, or your copy of it: $usage"
shift 2
name=${LONGREACH_HIRE_NAME:-longreach-worker}
[[ $name =~ ^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$ ]] || refuse "LONGREACH_HIRE_NAME, '$name', is no value of a label"
# Jobs without it would not be known again, and there would be more of them every time.
grep -qE "^    app: *[\"']?${name//./\\.}[\"']?( |$)" "$manifest" || refuse "the Job in $manifest does not have the label 'app: $name'; set it, or LONGREACH_HIRE_NAME"
# How many packs a worker takes, where the manifest says it.
packs=$(sed -nE "s/^[^#]*--packs[=\"', ]+([0-9]+).*/\1/p" "$manifest" | head -n 1)
packs=${packs:-1}
[[ $packs =~ ^[1-9][0-9]?$ && $packs -le 64 ]] || refuse "--packs $packs in $manifest is no number from 1 to 64"

client=${LONGREACH_CLIENT:-longreach}
leave_unless_packs_wait() {
  # With its format, which the environment or a config file may set otherwise.
  waiting=$("$client" workers --waiting -o table)
  [[ $waiting =~ ^[0-9]+$ ]] || refuse "'$waiting' is no number of packs; is LONGREACH_CLIENT the program longreach?"
  if [ "$waiting" -eq 0 ]; then exit 0; fi
}
leave_unless_packs_wait  # Mostly none does, and then nothing is asked of the cluster.

# One at a time: two that looked at the same moment would both make what is missing. By a ConfigMap beside the Jobs, so that it holds for all
# machines. It says until when somebody has it, which one that was killed leaves behind, and is taken and given back as the version that was
# seen: of two that try, the cluster refuses one.
lock=$(tr 'A-Z_' 'a-z-' <<<"$name")-hire
options=("$@")
had=
hold() {  # Until $1, in seconds since 1970.
  local how=create version=
  if [ -n "$had" ]; then how=replace version=", \"resourceVersion\": \"$had\""; fi
  # An array without elements is no variable to bash before 4.4.
  had=$(printf '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s"%s}, "data": {"until": "%s"}}' "$lock" "$version" "$1" |
    kubectl "$how" ${options[@]+"${options[@]}"} --filename - --output 'jsonpath={.metadata.resourceVersion}')
}
now=$(date +%s)
seen=$(kubectl get configmap "$lock" "$@" --ignore-not-found --output 'jsonpath={.metadata.resourceVersion} {.data.until}')
read -r had until <<<"$seen" || true
if [[ ${until:-0} =~ ^[0-9]+$ ]] && [ "${until:-0}" -gt "$now" ]; then
  echo "hire.sh: $waiting packs wait, and another hire.sh is looking, or was killed; it has the ConfigMap $lock for another $(( until - now )) s at most" >&2
  exit 0
fi
until=$(( now + 600 ))
hold "$until" || refuse "the ConfigMap $lock, which lets one hire.sh look at a time, cannot be taken: another one was quicker, or you may not create and update ConfigMaps there"
trap 'hold 0 || echo "hire.sh: the ConfigMap $lock stays taken for ten minutes" >&2' EXIT
leave_unless_packs_wait  # Who had it before may have seen to them.

# Each Job by its name, which is its worker's, and what has become of it: nothing yet, "Complete", "Failed".
jobs=$(kubectl get jobs "$@" --selector "app=$name" --output 'jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.status=="True")].type}{"\n"}{end}')
workers=$("$client" workers -o csv)
# Jobs that go on, those that no worker has come from yet, Jobs that failed, one of these, and a worker that does nothing. Columns: id, name, state, device, threads,
# pack limit, seen, what it does. A device's name mostly has a comma ("AMD EPYC, AVX-512"), and stands in quotes then.
read -r have coming failed example idle < <(awk -F, '
  NR == FNR { gsub(/"[^"]*"/, "quoted"); if (NF >= 9) does[$2] = $3 == "active" && $8 == "" ? "nothing" : "something"; next }
  / .*Failed/ { failed++; split($0, job, " "); example = job[1]; next }
  / .*Complete/ || NF == 0 { next }
  { split($0, job, " "); have++; if (!(job[1] in does)) coming++; else if (does[job[1]] == "nothing") idle = job[1] }
  END { print have + 0, coming + 0, failed + 0, example == "" ? "-" : example, idle }' <(echo "$workers") <(echo "$jobs"))
if [ -n "$idle" ]; then
  echo "hire.sh: $waiting packs wait, and the worker $idle does nothing: such workers cannot train them, and none is made; 'longreach explain JOB' says why" >&2
  exit 0
fi
# Else one that cannot start would be made anew every time.
if [ "$failed" -ge "$most" ] && [ "$failed" -ge 3 ]; then
  echo "hire.sh: $waiting packs wait, but workers have failed ($failed of late), and none is made; 'kubectl logs job/$example' says why, and it goes on once those Jobs are deleted" >&2
  exit 0
fi

more=$(( (waiting + packs - 1) / packs - coming ))
room=$(( most - have ))
if [ "$more" -gt "$room" ]; then more=$room; fi
if [ "$more" -le 0 ]; then exit 0; fi
[ "$(date +%s)" -lt $(( until - 300 )) ] || refuse "looking took longer than five minutes, and none is made: another hire.sh may look by now"
for (( i = 0; i < more; i++ )); do cat "$manifest"; printf '\n---\n'; done | kubectl create "$@" --filename - --output name >/dev/null
echo "$waiting packs wait, $have of $most workers are there or on their way: $more more"
