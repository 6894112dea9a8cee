# Read by the bash scripts: their help and the lock of a build folder. Not a script itself.

# Prints the comment on top of script FILE.
help_of() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

# Prints what was not understood and how to learn more, and ends the script: 2.
refuse() { echo "$(basename "$0"): error: $*" >&2; echo "hint: $0 --help" >&2; exit 2; }

# For scripts without options: help_or_refuse "$@".
help_or_refuse() {
  [ $# -le 1 ] || refuse "not understood: $2"
  case "${1:-}" in
    "") ;;
    -h | --help) help_of "$0"; exit 0 ;;
    *) refuse "not understood: $1" ;;
  esac
}

# Takes build folder DIR for this script until it ends: a second build in it would tear the first
# one's files. Waits, and says so.
lock_build() {
  { mkdir -p "$1" && true >> "$1/.lock"; } 2> /dev/null ||
    { echo "$(basename "$0"): error: $PWD/$1 cannot be written" >&2; exit 3; }
  exec {build_lock}> "$1/.lock"
  flock -n "$build_lock" && return
  echo "$(basename "$0"): waiting for another build in $1" >&2
  flock "$build_lock"
}
