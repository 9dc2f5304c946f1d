// Bytes as text: JSON strings, quoted words, and a reply on one line.
//
// Thread rule: functions without state; any thread.
#pragma once

#include <string>
#include <string_view>

#include <slotwise/error.hpp>
#include <slotwise/reply.hpp>

namespace slotwise::cli {

/// Well-formed UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view bytes) noexcept;

/// `bytes` in double quotes with the escapes that LineWords reads back.
void append_quoted(std::string& out, std::string_view bytes);

/// How the bytes of a JSON line's strings became characters.
enum class JsonEncoding : bool {
  utf8,    ///< as they are
  latin1,  ///< each byte is the character of the same number, so `.encode("latin-1")` gives it back
};

/// A JSON string with its quotes. With utf8 the bytes must be is_utf8().
void append_json_string(std::string& out, std::string_view bytes, JsonEncoding encoding);

/// A reply on one line for a person. Text at the top stands as it is unless that would be
/// ambiguous (control bytes, empty, looks like a quoted text or like "(nil)", "(error)"); then, and
/// inside [arrays] and {maps}, it is quoted.
void append_reply(std::string& out, const Reply& reply);

/// A reply as a JSON value; says which encoding its strings have (one for the whole reply: latin1
/// as soon as one string in it is not UTF-8). Maps become objects if their keys are text, else
/// arrays of pairs. Errors inside become {"error": text}; inf and nan become strings.
JsonEncoding append_json_reply(std::string& out, const Reply& reply);

/// The lines of `slotwise exec`: an answer, or an error.
void append_line(std::string& out, const Reply& reply, bool json);
void append_line(std::string& out, const Error& error, bool json);

}  // namespace slotwise::cli
