#pragma once
// The cost of messages between this program and a node: time, and processor time and
// waits of each side's threads.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/cluster/node_client.h"

namespace offstage::test {

// Over all threads of a process since they began, by the kernel's counters; ended threads
// are left out.
struct ThreadTimes {
    double cpu_us = 0;
    double n_waits = 0;  // times that a thread stopped to run because it had nothing to do
};
inline ThreadTimes thread_times(std::int64_t process) {
    ThreadTimes sum;
    std::error_code gone;
    const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
        double ns = 0;
        if (std::ifstream(task.path() / "schedstat") >> ns) sum.cpu_us += ns / 1e3;
        std::ifstream status(task.path() / "status");
        for (std::string word; status >> word;) {
            if (word != "voluntary_ctxt_switches:") continue;
            double n = 0;
            status >> n;
            sum.n_waits += n;
        }
    }
    return sum;
}

inline double microseconds(std::chrono::steady_clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
}
inline void compute_for(std::chrono::microseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

// Pings over a separate connection; the sending thread sleeps until the answer is there.
class Pings {
  public:
    explicit Pings(const engine::NodeAddress& address)
        : channel_(address.connect({[this](engine::FromNode message) {
                                        const std::scoped_lock lock(mutex_);
                                        if (auto* pong = std::get_if<engine::NodePong>(&message)) back_ = pong->number;
                                        changed_.notify_all();
                                    },
                                    [this](const engine::Message&) {
                                        const std::scoped_lock lock(mutex_);
                                        ended_ = true;
                                        changed_.notify_all();
                                    }})) {}

    // Microseconds until it was back.
    double ping(std::size_t n_bytes) {
        const std::uint64_t number = ++number_;
        const auto begin = std::chrono::steady_clock::now();
        channel_->send(engine::NodePing{number, std::string(n_bytes, 'p')});
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || back_ == number; });
        if (ended_) throw std::runtime_error("the node answers no pings");
        return microseconds(std::chrono::steady_clock::now() - begin);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t number_ = 0, back_ = 0;
    bool ended_ = false;
    std::unique_ptr<engine::NodeChannel> channel_;  // last: its events use the others
};

}  // namespace offstage::test
