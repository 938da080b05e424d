# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion for bash.  The words are those of `duenna --help` and of each
# command's, asked for when they are wanted.

# The words of a command's help, one a line.
_duenna_words() {
	case $1 in
	commands) duenna --help | sed -n 's/^  \([a-z]*\) .*/\1/p' ;;
	options) duenna "$2" --help | grep -oE -- '(^|[^a-z-])--[a-z][a-z-]+' | grep -oE -- '--.*' | sort -u ;;
	below) duenna "$2" --help | sed -n "s/^\(usage:\|      \) duenna $2 \([a-z]*\).*/\2/p" ;;
	esac 2>/dev/null
}

_duenna() {
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} i words=''
	if ((COMP_CWORD == 1)); then
		words=$(_duenna_words commands)
	elif [[ $command == run ]]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			[[ ${COMP_WORDS[i]} == -- ]] || continue
			# What follows is another command's.
			((i + 1 == COMP_CWORD)) && mapfile -t COMPREPLY < <(compgen -c -- "$word")
			return
		done
	fi
	if ((COMP_CWORD == 2)) && [[ $command == audit || $command == ca ]]; then
		words=$(_duenna_words below "$command")
	elif ((COMP_CWORD > 1)) && [[ $word == -* ]]; then
		words=$(_duenna_words options "$command")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _duenna duenna
