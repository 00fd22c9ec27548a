#include "engine/experts/disk_speed.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/experts/expert_reader.h"
#include "engine/plan/plan_messages.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLayersSeconds = 0.75;
constexpr int kReadsAlone = 15;

double seconds_from(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::optional<HostBuffer> memory_for(std::uint64_t bytes) {
    try {
        return std::optional<HostBuffer>(std::in_place, static_cast<std::size_t>(bytes), messages::measuring);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return std::nullopt;
    }
}

}  // namespace

DiskReadCost measure_direct_read(WeightSource& source, const ExpertGrid& grid, kernels::ThreadPool& pool,
                                 const std::stop_token& stop) {
    std::optional<HostBuffer> memory;  // outlives the reads into it
    const std::unique_ptr<ExpertReader> reader = ExpertReader::open(grid, source);
    if (reader == nullptr || grid.size() == 0) return {};
    std::uint64_t block_bytes = grid.expert_bytes(source.expert_type());
    for (const kernels::WeightType format : grid.file_formats) {
        block_bytes = std::max(block_bytes, grid.expert_bytes(format));
    }
    block_bytes = (block_bytes + 255) / 256 * 256;
    const std::int64_t n_together = std::clamp<std::int64_t>(grid.n_active, 1, grid.size());
    const std::uint64_t layer_bytes = static_cast<std::uint64_t>(n_together) * block_bytes;
    const ReadBuffers buffers = read_buffers_for(block_bytes, 2 * n_together);  // as where the next layer is guessed
    memory = memory_for(buffers.bytes() + 2 * layer_bytes);
    if (!memory) return {};
    reader->set_buffers(buffers, memory->data());
    const auto blocks_of = [&](std::uint64_t layer) {
        return memory->data() + buffers.bytes() + layer % 2 * layer_bytes;
    };
    std::mt19937_64 random(std::random_device{}());
    std::array<std::vector<ExpertReader::Handle>, 2> reads;
    const auto start = [&](std::uint64_t n) {
        const auto layer = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(grid.n_layers));
        const std::uint64_t first = random();
        for (std::int64_t i = 0; i < n_together; ++i) {
            const auto expert = (first + static_cast<std::uint64_t>(i * grid.n_experts / n_together)) %
                                static_cast<std::uint64_t>(grid.n_experts);
            auto read = reader->start({layer, static_cast<std::int32_t>(expert)},
                                      blocks_of(n) + static_cast<std::uint64_t>(i) * block_bytes,
                                      ExpertReader::Urgency::kNeeded);
            if (read == nullptr) return false;
            reads[n % 2].push_back(std::move(read));
        }
        return true;
    };
    std::atomic<std::uint64_t> sum{0};
    const auto use = [&](const std::byte* weights, std::uint64_t bytes) {
        pool.parallel_for(static_cast<std::int64_t>(bytes), 4096, [&](std::int64_t from, std::int64_t to, int) {
            std::uint64_t part = 0;
            for (std::int64_t at = from; at < to; at += 64) part += static_cast<std::uint64_t>(weights[at]);
            sum += part;  // a use of the bytes, so that the compiler keeps the reads
        });
    };
    const auto begin = Clock::now();
    std::uint64_t n_done = 0;
    if (!start(0)) return {};
    for (bool more = true; more; ++n_done) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::measuring_disk_cancelled);
        more = n_done == 0 || seconds_from(begin) < kLayersSeconds;
        if (more && !start(n_done + 1)) return {};
        for (const ExpertReader::Handle& read : reads[n_done % 2]) reader->wait(read);
        reads[n_done % 2].clear();
        if (!more) continue;
        use(blocks_of(n_done), layer_bytes);
    }
    const auto n_read = static_cast<double>(n_done * static_cast<std::uint64_t>(n_together));
    DiskReadCost cost;
    cost.us = seconds_from(begin) * 1e6 / n_read;
    cost.cpu_us = reader->counts().cpu_us / static_cast<double>(pool.n_threads()) / n_read;
    // One read alone, and work beside it that starts with a wait for the threads:
    // measured until the work begins.
    std::vector<double> alone_us;
    for (int i = 0; i < kReadsAlone; ++i) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::measuring_disk_cancelled);
        const auto layer = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(grid.n_layers));
        const auto expert = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(grid.n_experts));
        const auto asked = Clock::now();
        const auto read = reader->start({layer, expert}, blocks_of(0), ExpertReader::Urgency::kNeeded);
        if (read == nullptr) return {};
        reader->wait(read);
        use(blocks_of(0), block_bytes);
        const double us = seconds_from(asked) * 1e6;
        const auto again = Clock::now();
        use(blocks_of(0), block_bytes);
        alone_us.push_back(us - seconds_from(again) * 1e6);
    }
    cost.latency_us = std::max(0.0, median(alone_us) - cost.us);
    return cost;
}

double measure_disk_gbps(const WeightSource& source, double seconds, std::uint64_t seed) {
    constexpr std::size_t kPiece = std::size_t{512} << 10;
    const auto* const experts = dynamic_cast<const FileExperts*>(&source);
    if (experts == nullptr) return 0;
    std::vector<std::unique_ptr<DirectFile>> files;
    for (const RegularFile* file : experts->files()) {
        if (file->size_bytes() >= 2 * kPiece) files.push_back(std::make_unique<DirectFile>(*file));
    }
    auto memory = memory_for(kDirectAlignment + kPiece * kMostReadsAtOnce);
    if (files.empty() || !memory) return 0;
    const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
    std::byte* const pieces = memory->data() + (kDirectAlignment - address % kDirectAlignment) % kDirectAlignment;
    const std::unique_ptr<DirectReads> reads = DirectReads::open(DirectReads::Kind::kBest, kMostReadsAtOnce);
    reads->set_memory({pieces, kPiece * kMostReadsAtOnce});
    std::mt19937_64 random(seed);
    const auto submit = [&](std::uint64_t id) {
        DirectFile& file = *files[random() % files.size()];
        const std::uint64_t offset = random() % (file.file().size_bytes() / kPiece) * kPiece;
        const DirectRead read{&file, offset, pieces + id * kPiece, kPiece, kPiece, id};
        reads->submit({&read, 1});
    };
    // Threads where threads read; one of them counts.
    std::vector<std::jthread> readers;
    std::atomic<std::uint64_t> n_read{0};
    const auto begin = Clock::now();
    std::atomic<int> n_under_way{kMostReadsAtOnce};
    for (std::uint64_t id = 0; id < kMostReadsAtOnce; ++id) submit(id);
    std::mutex submitting;
    for (int i = 0; i < reads->n_waiting(); ++i) {
        readers.emplace_back([&] {
            while (const auto result = reads->wait()) {
                ++n_read;
                if (result->problem.empty() && seconds_from(begin) < seconds) {
                    const std::lock_guard lock(submitting);
                    submit(result->id);
                } else if (--n_under_way == 0) {
                    reads->stop();
                }
            }
        });
    }
    readers.clear();  // until all have come
    return static_cast<double>(n_read * kPiece) / seconds_from(begin) / 1e9;
}

}  // namespace offstage::engine
