#!/bin/sh
# A worker of the compute queue: takes one piece of work, counts the bytes of its inputs, and
# ends. It needs curl only, and sends no heartbeats: what takes longer than its lease is lost.
#
#	worker.sh SERVER DATASET
#
# ACCESSION_KEY is the key of an operator. docs/compute.md says what each call does.
set -eu
server=$1 dataset=$2 lease=600
umask 077
dir=$(mktemp -d)
token='' child=''
printf 'Authorization: Bearer %s\n' "$ACCESSION_KEY" >"$dir/key" # not in the arguments, which others see

# Run a command that a signal does not wait for.
run() {
	"$@" &
	child=$!
	code=0
	wait "$child" || code=$?
	child=''
	return "$code"
}

# Send a request, again after a pause while it is not answered: the status is in $status.
ask() { # PATH BODY TRIES [KEY]
	tries=$3
	while :; do
		status=000
		if run curl --silent --show-error --max-time 90 --header "@$dir/key" --header 'Content-Type: application/json' --header "Idempotency-Key: ${4:-}" \
			--data "$2" --output "$dir/answer" --write-out '%{http_code}' "$server$1" >"$dir/status"; then
			status=$(cat "$dir/status")
		fi
		tries=$((tries - 1))
		case $status in
		000 | 408 | 429 | 5??) [ "$tries" -gt 0 ] || return 0 ;;
		*) return 0 ;;
		esac
		run sleep 1 || :
	done
}

# Say how the work ends. What has ended it is answered as the first time when it is sent again.
end() { # VERB BODY TRIES
	ask "/v1/compute/claims/$token/$1" "$2" "$3"
	case $status in
	200) token='' ;;
	409) token='' && echo "the work is another worker's by now" >&2 && exit 1 ;;
	*) echo "$1 is answered with $status" >&2 && return 1 ;;
	esac
}

fail() { # CLASS MESSAGE
	echo "$2" >&2
	end fail '{"class":"'"$1"'","message":"'"$2"'"}' 30 || :
	exit 1
}

stop() {
	trap '' TERM INT HUP
	[ -z "$child" ] || kill "$child" 2>/dev/null || :
	if [ -n "$token" ]; then
		end fail '{"class":"system","message":"the worker is stopped","given_back":true}' 5 || :
	fi
	exit 0
}
trap 'rm -rf "$dir"' EXIT
trap stop TERM INT HUP

ask /v1/compute/claims '{"worker":"example","datasets":["'"$dataset"'"],"wait":30,"lease":'"$lease"'}' 10 "$(basename "$dir")"
if [ "$status" != 200 ]; then
	echo "no work could be taken: $status" >&2
	exit 1
fi
token=$(sed -n 's/.*"token":"\([^"]*\)".*/\1/p' "$dir/answer")
if [ -z "$token" ]; then
	echo "there is no work"
	exit 0
fi

# One line for each input: its URL, and its SHA-256 if that is known.
awk '
	function field(name, value) {
		if (!match(value, "\"" name "\":\"[^\"]*\"")) return ""
		return substr(value, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
	}
	{
		n = split($0, input, /(\[|\},)\{"/)
		for (i = 2; i <= n; i++) {
			url = field("url", "\"" input[i]); gsub(/\\u0026/, "\\&", url)
			print url, field("sha256", "\"" input[i])
		}
	}' "$dir/answer" >"$dir/inputs"

bytes=''
while read -r url sum; do
	case $url in
	/*) url=$server$url ;; # it is signed, and needs no key
	esac
	run curl --silent --show-error --fail --proto =http,https --location --max-time "$((lease / 6))" --retry 3 --output "$dir/input" "$url" ||
		fail system 'an input is not there'
	if [ -n "$sum" ] && [ "$(sha256sum <"$dir/input" | cut -d ' ' -f 1)" != "$sum" ]; then
		fail content 'an input is not what its SHA-256 says'
	fi
	bytes=$bytes${bytes:+,}$(($(wc -c <"$dir/input")))
done <"$dir/inputs"

end complete '{"result":{"bytes":['"$bytes"']}}' 60 || fail system "the result was answered with $status"
