#include <openssl/evp.h>

#include <slotwise/commands/scripts.hpp>
#include <slotwise/error.hpp>

namespace slotwise {

Script::Script(std::string body) {
  auto text = std::make_shared<Text>();
  text->body = std::move(body);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text->body.data(), text->body.size(), digest, &size, EVP_sha1(), nullptr) != 1 ||
      size * 2 != sizeof(text->sha1)) {
    throw Error(ErrorCode::invalid_argument, Outcome::not_sent,
                "OpenSSL of this machine refuses SHA1, which names a script: give eval() the text");
  }
  constexpr char hex[] = "0123456789abcdef";
  for (unsigned int i = 0; i < size; ++i) {
    text->sha1[2 * i] = hex[digest[i] >> 4];
    text->sha1[2 * i + 1] = hex[digest[i] & 15];
  }
  text_ = std::move(text);
}

}  // namespace slotwise
