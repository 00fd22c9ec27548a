#include "engine/nodes/node_channel.h"

#include <condition_variable>
#include <deque>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/credentials.h>
#include <mutex>
#include <utility>

#include "engine/cluster/node_messages.h"
#include "engine/nodes/call_status.h"
#include "engine/nodes/grpc_limits.h"
#include "engine/nodes/node.grpc.pb.h"
#include "engine/nodes/node_wire.h"
#include "engine/nodes/pinned_keys.h"

namespace offstage::engine {
namespace {

class GrpcNodeChannel final : public NodeChannel {
  public:
    GrpcNodeChannel(std::shared_ptr<grpc::Channel> channel, NodeChannelEvents events)
        : call_(std::make_unique<Call>(std::move(channel), std::move(events))) {}
    ~GrpcNodeChannel() override { call_->end(); }
    void send(ToNode message) override { call_->send(std::move(message)); }
    void close() override { call_->cancel(); }

  private:
    // gRPC calls the On... functions from its own threads, one at a time for each kind.
    class Call final : public grpc::ClientBidiReactor<node::ToNode, node::FromNode> {
      public:
        Call(std::shared_ptr<grpc::Channel> channel, NodeChannelEvents events)
            : stub_(node::Node::NewStub(channel)), events_(std::move(events)) {
            context_.set_wait_for_ready(false);
            stub_->async()->Link(&context_, this);
            AddHold();  // writes begin on other threads, until reading has ended
            StartRead(&incoming_);
            StartCall();
        }

        void send(ToNode message) {
            const std::scoped_lock lock(mutex_);
            if (read_ended_) return;
            outgoing_.push_back(to_wire(message));
            if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
        }
        void cancel() { context_.TryCancel(); }
        // Ends the call, and waits until no function of this object is being called.
        void end() {
            cancel();
            std::unique_lock lock(mutex_);
            ended_.wait(lock, [&] { return done_; });
        }

        void OnReadDone(bool ok) override {
            if (!ok) {
                {
                    const std::scoped_lock lock(mutex_);
                    read_ended_ = true;
                }
                RemoveHold();
                return;
            }
            if (auto message = from_wire(std::move(incoming_))) {
                events_.received(std::move(*message));
            } else {
                events_.ended(messages::node_sent_nonsense(messages::node_message_empty));
                cancel();
            }
            incoming_.Clear();
            StartRead(&incoming_);
        }
        void OnWriteDone(bool ok) override {
            const std::scoped_lock lock(mutex_);
            outgoing_.pop_front();
            if (!ok) outgoing_.clear();
            if (!outgoing_.empty() && !read_ended_) StartWrite(&outgoing_.front());
        }
        void OnDone(const grpc::Status& status) override {
            events_.ended(reason_of(status));
            const std::scoped_lock lock(mutex_);
            done_ = true;
            ended_.notify_all();
        }

      private:
        grpc::ClientContext context_;
        std::unique_ptr<node::Node::Stub> stub_;
        const NodeChannelEvents events_;
        node::FromNode incoming_;
        std::mutex mutex_;
        std::condition_variable ended_;
        std::deque<node::ToNode> outgoing_;
        bool read_ended_ = false, done_ = false;
    };

    std::unique_ptr<Call> call_;
};

std::unique_ptr<NodeChannel> open_channel(const std::string& target,
                                          const std::shared_ptr<grpc::ChannelCredentials>& keys,
                                          NodeChannelEvents events) {
    grpc::ChannelArguments arguments = direct_arguments();
    set_common_limits([&](const char* name, int value) { arguments.SetInt(name, value); });
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
    return std::make_unique<GrpcNodeChannel>(grpc::CreateCustomChannel(target, keys, arguments), std::move(events));
}

}  // namespace

NodeAddress address_of(const PairedPeer& peer, const NodeIdentity& own, const std::string& through) {
    grpc::SslCredentialsOptions keys;
    keys.pem_root_certs = peer.certificate_pem;
    keys.pem_private_key = own.key_pem;
    keys.pem_cert_chain = own.certificate_pem;
    const std::string target = through.empty() ? peer.address : through;
    return {peer.name,
            [keys, target](NodeChannelEvents events) {
                return open_channel(target, grpc::SslCredentials(keys), std::move(events));
            },
            peer.fingerprint, peer.address};
}

ConnectPeer connecting_peers(const NodeIdentity& own) {
    return [own](const NodePeer& peer, NodeChannelEvents events) {
        const auto keys = channel_credentials(
            own,
            PinnedKeys::verifier(std::make_shared<PinnedKeys::Admission>(
                [expected = peer.fingerprint](const std::string& fingerprint) { return fingerprint == expected; })));
        // The text comes from another machine: "dns:///" makes sure that it is only
        // looked up as a name.
        return open_channel("dns:///" + peer.address, keys, std::move(events));
    };
}

}  // namespace offstage::engine
