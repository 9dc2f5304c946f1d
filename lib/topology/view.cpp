#include "topology/view.hpp"

#include "base/endpoint.hpp"

namespace slotwise::topology {

bool NodeInfo::answers_to(const Endpoint& other) const noexcept {
  if (other.port != endpoint.port) return false;
  if (base::same_host(other.host, endpoint.host)) return true;
  if (!hostname.empty() && base::same_host(other.host, hostname)) return true;
  return !announced_ip.empty() && base::same_host(other.host, announced_ip);
}

}  // namespace slotwise::topology
