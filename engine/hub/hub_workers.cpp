#include "engine/hub/hub_workers.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/error.h"
#include "engine/hub/hub_messages.h"

namespace offstage::engine {

void for_each_with_connection(
    const HubAccess& access, int connections, std::size_t n, const std::stop_token& stop,
    const std::function<void(HubConnection& connection, std::size_t i, const std::stop_token& stop)>& work) {
    std::stop_source ends;
    const std::stop_callback stops(stop, [&] { ends.request_stop(); });
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto run = [&] {
        try {
            HubConnection connection(access);
            while (!ends.stop_requested()) {
                const std::size_t i = next++;
                if (i >= n) return;
                work(connection, i, ends.get_token());
            }
        } catch (...) {
            const std::scoped_lock lock(mutex);
            if (!failure) failure = std::current_exception();
            ends.request_stop();
        }
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(n, static_cast<std::size_t>(std::max(1, connections))); ++i) {
        threads.emplace_back(run);
    }
    threads.clear();  // joins
    if (failure) std::rethrow_exception(failure);
    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::download_cancelled);
}

}  // namespace offstage::engine
