# Completion for bash: options and values come from --help-list of the tool itself.
_mono_tools() {
  local tool=$1 word=$2 line=${COMP_LINE:0:COMP_POINT} words
  line=${line##* }
  case $line in
    --explain=*)
      words=$("$tool" --explain 2>/dev/null | cut -d: -f1) ;;
    --*=*)
      # Values are listed below their option, as "    =value", or with it, as "=<one|other|NAME>".
      words=$("$tool" --help-list 2>/dev/null |
        awk -v option="${line%%=*}" '$1 ~ /^-/ { inside = $1 ~ "^" option "(\\[?=|$)"
                                                 if (inside && match($1, /<.*[|].*>/)) {
                                                   n = split(substr($1, RSTART + 1, RLENGTH - 2), all, "|")
                                                   for (i = 1; i <= n; ++i)
                                                     if (all[i] !~ /[A-Z]/) print all[i] } }
                                     inside && $1 ~ /^=/ { print substr($1, 2) }') ;;
    -*)
      # One dash does for all of them, as in -Werror.
      words=$("$tool" --help-list 2>/dev/null |
        awk -v dash="${line:1:1}" '$1 ~ /^-/ { sub(/[[=<].*/, "", $1)
                                               if (dash != "-") sub(/^--/, "-", $1); print $1 }' | sort -u) ;;
  esac
  # Bash splits words at '=', so the value alone is what is completed.
  COMPREPLY=($(compgen -W "$words" -- "${word#=}"))
}
complete -o default -F _mono_tools monoc monorun monodiff monopack
