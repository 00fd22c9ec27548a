#include "engine/experts/disk_speed.h"

#include <algorithm>
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
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBurstsSeconds = 0.25;
constexpr std::size_t kMostBursts = 16;

double seconds_from(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::optional<HostBuffer> memory_for(std::uint64_t bytes) {
    try {
        return std::optional<HostBuffer>(std::in_place, static_cast<std::size_t>(bytes), "measuring");
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return std::nullopt;
    }
}

}  // namespace

double measure_direct_read_us(WeightSource& source, const ExpertGrid& grid, const std::stop_token& stop) {
    const std::unique_ptr<ExpertReader> reader = ExpertReader::open(grid, source);
    if (reader == nullptr || grid.size() == 0) return 0;
    std::uint64_t block_bytes = grid.expert_bytes(source.expert_type());
    for (const kernels::WeightType format : grid.file_formats) {
        block_bytes = std::max(block_bytes, grid.expert_bytes(format));
    }
    block_bytes = (block_bytes + 255) / 256 * 256;
    const std::int64_t n_together = std::clamp<std::int64_t>(grid.n_active, 1, grid.size());
    const ReadBuffers buffers = read_buffers_for(block_bytes, n_together);
    auto memory = memory_for(buffers.bytes() + static_cast<std::uint64_t>(n_together) * block_bytes);
    if (!memory) return 0;
    std::byte* const blocks = memory->data() + buffers.bytes();
    reader->set_buffers(buffers, memory->data());
    std::vector<double> us;
    std::vector<ExpertReader::Handle> reads;
    std::mt19937_64 random(1);
    const auto begin = Clock::now();
    while (us.empty() || (us.size() < kMostBursts && seconds_from(begin) < kBurstsSeconds)) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, "Measuring the disk was cancelled.");
        const auto layer = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(grid.n_layers));
        const std::uint64_t first = random();
        const auto start = Clock::now();
        for (std::int64_t i = 0; i < n_together; ++i) {
            const auto expert = (first + static_cast<std::uint64_t>(i * grid.n_experts / n_together)) %
                                static_cast<std::uint64_t>(grid.n_experts);
            auto read =
                reader->start({layer, static_cast<std::int32_t>(expert)},
                              blocks + static_cast<std::uint64_t>(i) * block_bytes, ExpertReader::Urgency::kNeeded);
            if (read == nullptr) return 0;
            reads.push_back(std::move(read));
        }
        for (const ExpertReader::Handle& read : reads) reader->wait(read);
        us.push_back(seconds_from(start) * 1e6 / static_cast<double>(n_together));
        reads.clear();
    }
    return median(us);
}

double measure_disk_gbps(const WeightSource& source, double seconds, std::uint64_t seed) {
    constexpr std::size_t kPiece = std::size_t{512} << 10;
    const auto* const experts = dynamic_cast<const FileExperts*>(&source);
    if (experts == nullptr) return 0;
    std::vector<std::unique_ptr<DirectFile>> files;
    for (const RegularFile* file : experts->files()) {
        if (file->size_bytes() >= 2 * kPiece) files.push_back(std::make_unique<DirectFile>(*file));
    }
    auto memory = memory_for(kDirectAlignment + kPiece * kMostReadBuffers);
    if (files.empty() || !memory) return 0;
    const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
    std::byte* const pieces = memory->data() + (kDirectAlignment - address % kDirectAlignment) % kDirectAlignment;
    const std::unique_ptr<DirectReads> reads = DirectReads::open(DirectReads::Kind::kBest, kMostReadBuffers);
    reads->set_memory({pieces, kPiece * kMostReadBuffers});
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
    std::atomic<int> n_under_way{kMostReadBuffers};
    for (std::uint64_t id = 0; id < kMostReadBuffers; ++id) submit(id);
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
