// Owning pointer to one connection's TLS state, for headers that keep OpenSSL out.
#pragma once

#include <memory>

namespace slotwise::net {

struct TlsState;  // tls_state.hpp

struct tls_state_free {
  void operator()(TlsState* state) const noexcept;
};
using tls_handle = std::unique_ptr<TlsState, tls_state_free>;

}  // namespace slotwise::net
