#pragma once
// A process that is as slow as if its processor were.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <stdexcept>
#include <stop_token>
#include <sys/prctl.h>
#include <thread>

namespace offstage::test {

// While it lives, all threads of the process are held (SIGSTOP) for factor - 1 times as long as they compute, by the
// process' own clock of processor time: in pieces, each as soon as some computing has come together. What is computed
// takes `factor` times as long then, messages included, and nothing but waiting is added. Pieces shorter than
// kLeastComputed are held for later than they were computed.
class HeldProcess {
  public:
    HeldProcess(pid_t process, double factor) : process_(process), factor_(factor) {
        if (!(factor >= 1)) throw std::runtime_error("a machine is slowed by a factor of 1 or more");
        if (::clock_getcpuclockid(process, &clock_) != 0) throw std::runtime_error("no such process to be held");
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    ~HeldProcess() {
        thread_.request_stop();
        thread_.join();
    }
    HeldProcess(const HeldProcess&) = delete;
    HeldProcess& operator=(const HeldProcess&) = delete;

    // What it has come to until now: computing and being held, of the computing alone.
    double measured_factor() const {
        const double computed = computed_us_, held = held_us_;
        return computed > 0 ? (computed + held) / computed : 1;
    }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr double kLeastComputed = 50, kLongestHeld = 20'000;  // us

    double processor_us() const {
        timespec time{};
        if (::clock_gettime(clock_, &time) != 0) return -1;  // it has ended
        return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
    }
    static void sleep_us(double us) { std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us)); }

    void run(const std::stop_token& stop) {
        ::prctl(PR_SET_TIMERSLACK, 1UL);
        const double begin_us = processor_us();
        while (!stop.stop_requested()) {
            sleep_us(kLeastComputed);
            const double now_us = processor_us();
            if (now_us < 0) return;
            computed_us_ = now_us - begin_us;
            const double owed_us = (factor_ - 1) * computed_us_ - held_us_;
            if (owed_us < (factor_ - 1) * kLeastComputed) continue;
            const auto begin = Clock::now();
            ::kill(process_, SIGSTOP);
            sleep_us(std::min(owed_us, kLongestHeld));
            ::kill(process_, SIGCONT);
            held_us_ = held_us_ + std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        }
    }

    const pid_t process_;
    const double factor_;
    clockid_t clock_{};
    std::atomic<double> computed_us_ = 0, held_us_ = 0;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace offstage::test
