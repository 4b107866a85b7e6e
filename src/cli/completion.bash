# SPDX-License-Identifier: GPL-2.0-or-later

# _gapless_offer KIND [WORD...]: offers the completions that match $cur.
_gapless_offer()
{
	local kind=$1 before=
	shift

	case $kind in
	words)
		mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur")
		;;
	list | pids)
		[[ $cur != *,* ]] || before=${cur%,*},
		[[ $kind == list ]] || set -- /proc/[0-9]*
		mapfile -t COMPREPLY < <(compgen -P "$before" -W "${*#/proc/}" -- "${cur##*,}")
		;;
	users)
		mapfile -t COMPREPLY < <(compgen -u -- "$cur")
		;;
	commands)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
		;;
	files)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames 2>/dev/null
		;;
	recordings)
		mapfile -t COMPREPLY < <({ compgen -d -- "$cur"; compgen -f -X '!*.gapless' -- "$cur"; } | sort -u)
		compopt -o filenames 2>/dev/null
		;;
	esac
}

# _gapless_command INDEX: completes the command line that starts at this word.
_gapless_command()
{
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		_gapless_offer commands
	else
		_gapless_offer files
	fi
}

_gapless()
{
	local cur=${COMP_WORDS[COMP_CWORD]} verbs='' options='' first=none many='' command=''
	local option='' behind='' args=0 word i
	local -A takes=()

	COMPREPLY=()
	_gapless_know "${COMP_WORDS[1]}"
	if ((COMP_CWORD == 1)); then
		_gapless_offer words "$verbs"
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ $option ]]; then
			# bash splits "--option=value" into three words.
			[[ $word == = ]] || option=
		elif [[ $word == -- ]]; then
			behind=$((i + 1))
			break
		elif [[ $word == -?* ]]; then
			[[ ! ${takes[$word]-} ]] || option=$word
		else
			((++args))
		fi
	done
	if [[ $behind && $command ]]; then
		_gapless_command "$behind"
	elif [[ $option ]]; then
		[[ $cur != = ]] || cur=
		# shellcheck disable=SC2086
		_gapless_offer ${takes[$option]}
	elif [[ ! $behind && ($cur == -* || $first == none) ]]; then
		_gapless_offer words "$options"
	elif [[ $many || $args -eq 0 ]]; then
		# shellcheck disable=SC2086
		_gapless_offer $first
	fi
}

complete -F _gapless gapless
