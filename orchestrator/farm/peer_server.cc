#include "orchestrator/farm/peer_server.h"

#include "common/wire/endpoint.h"
#include "common/wire/keys.h"

namespace sluice {
namespace {

constexpr int kPiecesAtOnce = 32;  // before the worker looks after its jobs again

// Returns the endpoint that others get.
Result<std::string> endpoint_for_others(const PeerServerRequest& request, const Channel& channel) {
  const bool is_given = !request.reached_at.empty();
  const Reach reach = request.keys.key.empty() ? Reach::kThisMachine : Reach::kConnect;
  auto endpoint = parse_endpoint(is_given ? request.reached_at : channel.endpoint(), reach);
  if (endpoint) return endpoint;
  if (is_given) return std::move(endpoint).error().within("--reached-at");
  return make_error(ErrorCode::kBadOption, "other workers cannot connect to '{}'",
                    channel.endpoint())
      .with_hint("--reached-at=tcp://HOST:PORT names the endpoint for them");
}

}  // namespace

Result<PeerServer> PeerServer::listen(const PeerServerRequest& request) {
  std::string public_key;
  if (!request.keys.key.empty()) {
    SLUICE_ASSIGN(const KeyPair own, read_key_pair(request.keys.key));
    public_key = own.public_key;
  }
  SLUICE_ASSIGN(Channel channel, Channel::listen(request.bind, request.keys));
  SLUICE_ASSIGN(std::string endpoint, endpoint_for_others(request, channel));
  return PeerServer(std::move(channel), std::move(endpoint), std::move(public_key));
}

void PeerServer::turn(const Store& store, Artifacts& artifacts, const FarmLog& log) {
  for (int i = 0; i < kPiecesAtOnce; ++i) {
    auto incoming = channel_.receive();
    if (!incoming) break;
    if (!incoming->message.has_get() || incoming->role == KeyRole::kClient) continue;
    const pb::Get& get = incoming->message.get();
    PieceOfArtifact answer = read_piece(store, get);
    const auto digest = digest_of_field(get.digest());
    if (digest && answer.message.piece().is_missing()) artifacts.forget(*digest);
    channel_.send(incoming->peer, answer.message, std::move(answer.bytes));
  }
  for (const RefusedPeer& peer : channel_.take_refused())
    log.warn("peer refused", {{"key", peer.key}, {"address", peer.address}, {"why", peer.why}});
}

}  // namespace sluice
