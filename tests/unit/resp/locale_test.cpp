// Doubles are the same where the locale writes 1,5 for 1.5.
#include <locale.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <slotwise/args.hpp>
#include <string>

#include "parse.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable()
#define __lsan_enable()
#endif

namespace slotwise::resp::test {
namespace {

// One that is installed, or else one that is made on the spot from the C library's own sources.
locale_t locale_with_comma() {
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"}) {
    if (locale_t found = newlocale(LC_ALL_MASK, name, nullptr)) return found;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "slotwise-locale-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return nullptr;
  const std::string command = "localedef -i de_DE -f ISO-8859-1 " + folder + "/de_DE 2>/dev/null";
  locale_t made = nullptr;
  if (std::system(command.c_str()) == 0) {
    setenv("LOCPATH", folder.c_str(), 1);
    __lsan_disable();  // the C library loses the list of folders that it makes of LOCPATH
    made = newlocale(LC_ALL_MASK, "de_DE", nullptr);
    __lsan_enable();
    unsetenv("LOCPATH");
  }
  std::filesystem::remove_all(folder);
  return made;
}

}  // namespace

TEST_CASE("doubles do not depend on the locale") {
  const locale_t comma = locale_with_comma();
  if (comma == nullptr) SKIP("no locale with a decimal comma is installed or can be made here");
  const locale_t old = uselocale(comma);
  char written[16];
  (void)std::snprintf(written, sizeof(written), "%.1f", 1.5);
  const Reply alone = parse_one(",3.25\r\n");
  const Reply nested = parse_one("*2\r\n,3.25\r\n,-1e-7\r\n");
  const std::string text(Args("X", 3.25).words()[1]);
  const std::string described = alone.describe();
  const locale_t after = uselocale(old);
  freelocale(comma);

  CHECK(std::string_view(written) == "1,5");  // or the test proves nothing
  CHECK(alone == Reply::make_real(3.25));
  CHECK(nested == array({Reply::make_real(3.25), Reply::make_real(-1e-7)}));
  CHECK(text == "3.25");
  CHECK(described == "3.25");
  CHECK(after == comma);  // the parser leaves the thread's locale as it was
}

}  // namespace slotwise::resp::test
