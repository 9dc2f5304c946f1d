// TLS for Connection, through hiredis's own read and write functions. Not for tests.
#pragma once

#include "kit/connection.hpp"

namespace slotwise::kit {

/// Shakes hands on a connected context and makes it speak TLS from then on; the context's time
/// limit holds. hiredis_ssl would do the same for one more library to find and link.
/// Throws kit::Error; the context may then only be freed.
void start_tls_on(redisContext& context, const ClientTls& tls);

}  // namespace slotwise::kit
