# Completion for bash: options and values come from --help-list of the tool itself.
_mono_tools() {
  local tool=$1 word=$2 line=${COMP_LINE:0:COMP_POINT} words
  line=${line##* }
  case $line in
    --explain=*)
      words=$("$tool" --explain 2>/dev/null | cut -d: -f1) ;;
    --*=*)
      # Values are listed below their option, as "    =value".
      words=$("$tool" --help-list 2>/dev/null |
        awk -v option="${line%%=*}" '$1 ~ /^-/ { inside = index($1, option "=") == 1 || $1 == option }
                                     inside && $1 ~ /^=/ { print substr($1, 2) }') ;;
    -*)
      words=$("$tool" --help-list 2>/dev/null |
        awk '$1 ~ /^-/ { sub(/[[=<].*/, "", $1); print $1 }' | sort -u) ;;
  esac
  # Bash splits words at '=', so the value alone is what is completed.
  COMPREPLY=($(compgen -W "$words" -- "${word#=}"))
}
complete -o default -F _mono_tools monoc monorun monodiff monobench monopack
