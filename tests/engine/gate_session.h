#pragma once
// A session that writes "a b c ..." only as far as a test lets it.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>

#include "engine/run/session.h"

namespace offstage::test {

class GateSession : public engine::Session {
  public:
    // ---- the test's side
    void allow(int words) {
        const std::lock_guard lock(mutex_);
        allowed_ += words;
        changed_.notify_all();
    }
    void wait_for_begun(int answers) {
        wait([&] { return begun_ >= answers; });
    }
    void wait_for_stopped(int answers) {
        wait([&] { return stopped_ >= answers; });
    }
    int n_begun() {
        const std::lock_guard lock(mutex_);
        return begun_;
    }

    // ---- Session
    engine::ModelSummary load(const engine::LoadRequest&, const engine::LoadProgressFn&, std::stop_token) override {
        engine::ModelSummary model;
        model.name = "gate";
        return model;
    }
    void unload() override {}
    bool is_loaded() const override { return true; }
    std::int64_t count_tokens(const std::vector<engine::ChatMessage>&) const override { return 1; }
    engine::GenerationResult generate(const engine::GenerationRequest& request, const engine::TextDeltaFn& on_delta,
                                      std::stop_token stop) override {
        std::unique_lock lock(mutex_);
        ++begun_;
        changed_.notify_all();
        engine::GenerationResult result;
        result.prompt_tokens = 1;
        result.finish = engine::FinishReason::kMaxTokens;
        while (static_cast<int>(result.tokens.size()) < request.max_tokens) {
            if (!changed_.wait(lock, stop, [&] { return allowed_ > 0; })) {
                ++stopped_;
                changed_.notify_all();
                result.finish = engine::FinishReason::kStopped;
                break;
            }
            --allowed_;
            engine::TextDelta delta;
            delta.text = std::string(1, static_cast<char>('a' + result.tokens.size() % 26)) + " ";
            delta.token = 7;
            result.tokens.push_back(7);
            lock.unlock();
            on_delta(delta);
            lock.lock();
        }
        return result;
    }
    void reset_conversation() override {}
    engine::Snapshot snapshot() const override { return {}; }

  private:
    template <typename Condition>
    void wait(const Condition& condition) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::seconds(60), condition);  // on a timeout the next comparison fails
    }

    std::mutex mutex_;
    std::condition_variable_any changed_;
    int allowed_ = 0, begun_ = 0, stopped_ = 0;
};

}  // namespace offstage::test
