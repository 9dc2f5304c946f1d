# shellcheck shell=bash
# ./dev lint and ./dev fmt. Formatting and findings differ between clang's versions, so one version is
# the project's: that of Debian 12.

readonly clang_version=14

lint() {
  check_scripts
  if clang_fits clang-format; then check_format; fi
  if clang_fits clang-tidy; then check_tidy; fi
}

clang_fits() {
  "$1" --version | grep -q "version $clang_version\." && return
  say "lint: SKIPPED: $1 here is not version $clang_version, on which the project has settled"
  return 1
}

cpp_files() { find include lib examples tests bench -name '*.hpp' -o -name '*.cpp'; }

check_scripts() {
  local script
  for script in dev .ci/run cmake/dev/*.sh; do bash -n "$script"; done
  say "lint: scripts parse"
}

check_format() {
  cpp_files | xargs clang-format --dry-run -Werror || die "formatting differs; ./dev fmt puts it right"
  say "lint: $(cpp_files | wc -l) C++ files are well formatted"
}

format_all() {
  clang_fits clang-format || return
  cpp_files | xargs clang-format -i
  say "fmt: done"
}

check_tidy() {
  configure dev
  python3 cmake/dev/tidy.py --build build/dev --cache build/tidy
}
