# shellcheck shell=bash disable=SC2016  # what stands in single quotes is for apt, sed and CMake
# ./dev setup: everything a build and its tests need, in three steps.
#   1. ordinary packages of this machine's distribution, by apt-get install
#   2. libraries that are too old there (hiredis, Catch2): unpacked into .deps/prefix
#   3. test servers: unpacked with their own libc into .deps/servers/NAME, so that no service is
#      started and the system stays as it is
# Each part of .deps is finished by a stamp, so an interrupted run goes on where it stopped, and a
# second run only looks at the stamps.

readonly apt_packages=(
  g++ cmake ninja-build pkg-config binutils
  libssl-dev libc-ares-dev libfmt-dev
  nlohmann-json3-dev libcli11-dev libbenchmark-dev libev-dev
  clang-format clang-tidy
  python3 openssl dnsmasq-base valgrind
)
# Raised by hand when what lies in .deps must be made anew.
readonly recipe=3
readonly default_servers=(valkey-9.1 redis-7.0)

cmd_setup() {
  local servers=()
  while (($#)); do
    case $1 in
      --server) servers+=("${2:?--server needs a name}"); shift 2 ;;
      *) die "setup: unknown argument '$1'" ;;
    esac
  done
  ((${#servers[@]})) || servers=("${default_servers[@]}")
  setup "${servers[@]}"
  say "setup: ready (libraries and servers are in .deps)"
}

# setup [SERVER...]: the packages, the libraries, and these servers
setup() {
  local name
  for name; do server_spec "$name" >/dev/null; done

  mkdir -p "$deps/stamps"
  exec 9>"$deps/lock"
  flock -n 9 || { say "setup: waiting for another ./dev setup in this folder"; flock 9; }

  local missing
  missing=$(missing_packages "${apt_packages[@]}")
  # shellcheck disable=SC2086  # a list of words on purpose
  [[ -z $missing ]] || system_install $missing
  part hiredis setup_hiredis
  part catch2 setup_catch2
  for name; do part "server-$name" setup_server "$name"; done
  exec 9>&-
}

# part NAME COMMAND...: runs the command unless the stamp NAME stands with today's recipe.
part() {
  local stamp=$deps/stamps/$1
  shift
  [[ -f $stamp && $(<"$stamp") == "$recipe" ]] && return
  "$@"
  printf '%s' "$recipe" >"$stamp"
}

# --- ordinary packages ------------------------------------------------------------------------

# Prints those of its arguments that are not installed.
missing_packages() {
  local installed name
  installed=" $(dpkg-query -W -f '${db:Status-Status}=${Package} ' "$@" 2>/dev/null || true) "
  for name; do
    [[ $installed == *" installed=$name "* ]] || printf '%s ' "$name"
  done
}

system_install() {
  ((EUID == 0)) || die "packages are missing; run this, then ./dev again:
  sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
  say "setup: apt-get install $*"
  # Fails when the lists are absent, as on a fresh machine.
  system_apt install --simulate "$@" &>/dev/null || refresh_system_lists
  run_logged install system_apt install -y --no-install-recommends "$@" && return
  # Lists that are old, and name files that the mirror no longer has, are the usual reason.
  refresh_system_lists
  run_logged install system_apt install -y --no-install-recommends "$@" ||
    die "apt-get install failed, see $deps/log/install.log"
}

system_apt() { DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@"; }

refresh_system_lists() {
  [[ -z ${lists_are_fresh:-} ]] || return 0
  ((EUID == 0)) || die "apt knows no packages; run: sudo apt-get update"
  say "setup: apt-get update"
  run_logged update system_apt update || die "apt-get update failed, see $deps/log/update.log"
  lists_are_fresh=yes
}

# run_logged NAME COMMAND...: output goes to .deps/log/NAME.log, and its end to the screen at a failure.
run_logged() {
  local log=$deps/log/$1.log
  shift
  mkdir -p "$deps/log"
  "$@" </dev/null >"$log" 2>&1 && return
  tail -n 5 "$log" >&2
  return 1
}

# The version that apt-get install would bring or has brought; nothing when there is none.
candidate_version() {
  apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([^(].*\)$/\1/p'
}

# use_system_package PACKAGE VERSION: true when the distribution has it at least at that version;
# it is then installed.
use_system_package() {
  local candidate
  candidate=$(candidate_version "$1")
  if [[ -z $candidate ]]; then
    ((EUID == 0)) && refresh_system_lists
    candidate=$(candidate_version "$1")
  fi
  [[ -n $candidate ]] && dpkg --compare-versions "$candidate" ge "$2" || return 1
  [[ -z $(missing_packages "$1") ]] || system_install "$1"
}

# --- packages of another suite, beside the system -----------------------------------------------

# Debian's mirror as this machine's own apt is configured. Asked at run time: a mirror is this
# machine's business and not the project's.
find_debian_mirror() {
  [[ -z ${debian_mirror:-} ]] || return 0
  debian_mirror=$(ask_apt_for_mirror)
  if [[ -z $debian_mirror ]]; then
    refresh_system_lists
    debian_mirror=$(ask_apt_for_mirror)
  fi
  [[ -n $debian_mirror ]] || die "this machine's apt has no Debian mirror, so newer packages cannot be
  unpacked beside the system; install hiredis >= 1.1 and Catch2 >= 3, and put the test servers
  (valkey-server 9, redis-server 7.0) into PATH"
}

ask_apt_for_mirror() {
  apt-get indextargets --format '$(REPO_URI)' \
    'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1
}

# private_apt SUITE ARGUMENT...: apt-get with its own lists and cache, and with an empty list of
# installed packages, so that it takes the whole closure (libc too) and knows nothing of the system.
# Lists are believed past their date: that of testing runs out in a week, and mirrors lag; they are
# signed all the same.
private_apt() {
  local suite=$1 home=$deps/apt/$1
  shift
  LC_ALL=C apt-get \
    -o Dir::Etc::SourceList="$home/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State="$home/state" -o Dir::State::Lists="$home/lists" -o Dir::State::status="$home/status" \
    -o Dir::Cache="$home/cache" -o Dir::Cache::archives="$home/cache/archives" \
    -o APT::Install-Recommends=0 -o APT::Sandbox::User="$(id -un)" -o APT::Get::List-Cleanup=0 \
    -o Debug::NoLocking=1 -o Acquire::Languages=none -o Acquire::Retries=3 \
    -o Acquire::Check-Valid-Until=false \
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
    -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false \
    "$@"
}

prepare_private_apt() {
  local suite=$1 home=$deps/apt/$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [[ -f $keyring ]] || system_install debian-archive-keyring
  mkdir -p "$home"/{lists,cache/archives}/partial "$home/state"
  : >"$home/status"
  find_debian_mirror
  printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$debian_mirror" "$suite" >"$home/sources.list"
  retry run_logged "apt-$suite" private_apt "$suite" update -o APT::Update::Error-Mode=any ||
    die "cannot read the package list of Debian $suite, see $deps/log/apt-$suite.log"
}

# fetch_packages SUITE closure|only PACKAGE...: leaves the .deb files in .deps/apt/SUITE/cache/archives
fetch_packages() {
  local suite=$1 what=$2 archives=$deps/apt/$1/cache/archives
  shift 2
  prepare_private_apt "$suite"
  rm -f "$archives"/*.deb
  if [[ $what == closure ]]; then
    retry run_logged "apt-$suite" private_apt "$suite" -y --download-only install "$@"
  else
    (cd "$archives" && retry run_logged "apt-$suite" private_apt "$suite" download "$@")
  fi || die "cannot download $* of Debian $suite, see $deps/log/apt-$suite.log"
}

# unpack_packages SUITE FOLDER: unpacks what fetch_packages left, and drops the .deb files.
unpack_packages() {
  local suite=$1 folder=$2 deb
  mkdir -p "$folder"
  for deb in "$deps/apt/$suite/cache/archives"/*.deb; do dpkg -x "$deb" "$folder"; done
  rm -f "$deps/apt/$suite/cache/archives"/*.deb
}

retry() {
  local attempt
  for attempt in 1 2 3; do
    "$@" && return
    say "setup: attempt $attempt failed"
    sleep $((attempt * 2))
  done
  return 1
}

# --- libraries ----------------------------------------------------------------------------------

setup_hiredis() {
  pkg-config --exists 'hiredis >= 1.1' && return
  use_system_package libhiredis-dev 1.1 && return
  say "setup: hiredis here is older than 1.1, so Debian 13's goes into .deps/prefix"
  fetch_packages trixie only libhiredis-dev libhiredis1.1.0
  unpack_packages trixie "$deps/prefix"
  relocate_pkg_config
}

setup_catch2() {
  use_system_package catch2 3 && return
  say "setup: Catch2 here is older than 3, so that of bookworm-backports goes into .deps/prefix"
  fetch_packages bookworm-backports only libcatch2-dev
  unpack_packages bookworm-backports "$deps/prefix"
  relocate_pkg_config
}

# .pc files name /usr; here they must name the folder that they lie in.
relocate_pkg_config() {
  find "$deps/prefix/usr/lib" -name '*.pc' -path '*/*-linux-*/pkgconfig/*' -exec sed -i \
    's#^prefix=.*#prefix=${pcfiledir}/../../..#; s#^libdir=.*#libdir=${pcfiledir}/..#; s#=/usr/#=${prefix}/#' {} +
}

# --- servers ------------------------------------------------------------------------------------

# server_spec NAME: prints "PROGRAM SUITE VERSION-PATTERN"; the pattern tells whether a server that
# is already in PATH will do.
server_spec() {
  case $1 in
    valkey-9.1) echo 'valkey forky v=(9|[1-9][0-9])\.' ;;
    valkey-8) echo 'valkey trixie v=8\.' ;;
    redis-7.0) echo 'redis bookworm v=7\.0\.' ;;
    *) die "unknown server '$1'; there are valkey-9.1, redis-7.0 and valkey-8" ;;
  esac
}

setup_server() {
  local name=$1 program suite pattern
  read -r program suite pattern <<<"$(server_spec "$name")"
  # Made aside and moved in whole: a run that is interrupted leaves no half server.
  local home=$deps/servers/$name new=$deps/servers/$name.new present
  rm -rf "$new"
  mkdir -p "$new/bin"

  if present=$(command -v "$program-server") && "$present" --version | grep -qE "$pattern"; then
    say "setup: $name is $present of this machine"
    link_server "$program" "$(dirname "$present")" "$new/bin"
  else
    say "setup: $name of Debian $suite goes into .deps/servers/$name, with its own libc"
    fetch_packages "$suite" closure "$program-server" "$program-tools"
    unpack_packages "$suite" "$new/root"
    wrap_server "$program" "$new"
  fi
  "$new/bin/$program-server" --version >/dev/null || die "$new/bin/$program-server does not run"
  rm -rf "$home"
  mv "$new" "$home"
}

link_server() {
  local program=$1 from=$2 to=$3 tool
  for tool in server cli benchmark sentinel; do ln -s "$from/$program-$tool" "$to/"; done
}

# Writes bin/PROGRAM-*: small scripts that exec the program through its own loader, so that the
# process started is the server itself (its pid, its signals). The sentinel is the server under
# another name, which it reads from argv[0].
wrap_server() {
  local program=$1 home=$2 tool binary loader libraries
  loader=$(cd "$home" && find root -name 'ld-linux-*.so.*' -print -quit)
  [[ -n $loader ]] || die "no libc among the packages of $program"
  # Older suites keep libc in /lib and the rest in /usr/lib.
  libraries=$(cd "$home" && find root/ -maxdepth 3 -path '*/lib/*' -name '*-linux-gnu*' -printf '$home/%p:')
  for tool in server cli benchmark sentinel; do
    binary=root/usr/bin/$program-${tool/sentinel/server}
    write_wrapper "$home/bin/$program-$tool" "$loader" "$libraries" "$binary"
  done
}

write_wrapper() {
  local wrapper=$1 loader=$2 libraries=$3 binary=$4
  cat >"$wrapper" <<TEXT
#!/bin/sh
home=\${0%/*}/..
exec "\$home/$loader" --argv0 "\$0" --library-path "${libraries%:}" "\$home/$binary" "\$@"
TEXT
  chmod +x "$wrapper"
}
