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
#include "engine/model/cold_reads.h"
#include "engine/plan/plan_messages.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLayersSeconds = 0.75;
constexpr std::size_t kReadsAlone = 15;
constexpr std::int64_t kMostReads = 5;
constexpr std::int64_t kMostCachedReads = 32;  // more than the CPU's caches hold

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

// Reads experts like a running model, into its own memory.
class DirectExperts {
  public:
    // Allocates memory for this many experts. nullptr: the source has no files, or RAM
    // has no room.
    static std::unique_ptr<DirectExperts> open(WeightSource& source, const ExpertGrid& grid, kernels::ThreadPool& pool,
                                               const std::stop_token& stop, std::int64_t n_experts) {
        std::unique_ptr<DirectExperts> opened(new DirectExperts(grid, pool, stop));
        opened->reader_ = ExpertReader::open(grid, source);
        if (opened->reader_ == nullptr || grid.size() == 0) return nullptr;
        std::uint64_t bytes = grid.expert_bytes(source.expert_type());
        for (const kernels::WeightType format : grid.file_formats) bytes = std::max(bytes, grid.expert_bytes(format));
        opened->block_bytes_ = (bytes + 255) / 256 * 256;
        // Buffers as for guesses of the next layer.
        const ReadBuffers buffers = read_buffers_for(opened->block_bytes_, 2 * opened->n_together());
        const std::uint64_t blocks = static_cast<std::uint64_t>(n_experts) * opened->block_bytes_;
        opened->memory_ = memory_for(buffers.bytes() + blocks);
        if (!opened->memory_) return nullptr;
        opened->buffer_bytes_ = buffers.bytes();
        opened->reader_->set_buffers(buffers, opened->memory_->data());
        return opened;
    }

    // The number of experts of a token in a layer.
    std::int64_t n_together() const { return std::clamp<std::int64_t>(grid_.n_active, 1, grid_.size()); }

    // Reads layers one after the other, while the CPU works with the layer before;
    // without latency.
    DiskReadCost layers() {
        std::array<std::vector<ExpertReader::Handle>, 2> reads;
        const auto layer_at = [&](std::uint64_t n) { return static_cast<std::int64_t>(n % 2) * n_together(); };
        const auto start = [&](std::uint64_t n) {
            const std::int32_t layer = any_layer();
            const std::uint64_t first = random_();
            for (std::int64_t i = 0; i < n_together(); ++i) {
                const auto expert = (first + static_cast<std::uint64_t>(i * grid_.n_experts / n_together())) %
                                    static_cast<std::uint64_t>(grid_.n_experts);
                auto read = reader_->start({layer, static_cast<std::int32_t>(expert)}, block(layer_at(n) + i),
                                           ExpertReader::Urgency::kNeeded);
                if (read == nullptr) return false;
                reads[n % 2].push_back(std::move(read));
            }
            return true;
        };
        const auto begin = Clock::now();
        std::uint64_t n_done = 0;
        if (!start(0)) return {};
        for (bool more = true; more; ++n_done) {
            check();
            more = n_done == 0 || seconds_from(begin) < kLayersSeconds;
            if (more && !start(n_done + 1)) return {};
            for (const ExpertReader::Handle& read : reads[n_done % 2]) reader_->wait(read);
            reads[n_done % 2].clear();
            if (more) use(block(layer_at(n_done)), static_cast<std::uint64_t>(n_together()) * block_bytes_);
        }
        const auto n_read = static_cast<double>(n_done * static_cast<std::uint64_t>(n_together()));
        DiskReadCost cost;
        cost.us = seconds_from(begin) * 1e6 / n_read;
        cost.cpu_us = reader_->counts().cpu_us / static_cast<double>(pool_.n_threads()) / n_read;
        return cost;
    }

    // The time of one separate read, and of the start of work after it, which begins with
    // a wait for the threads. At least one read, others for this many seconds; the
    // median. 0: it cannot be read.
    double alone_us(double seconds) {
        std::vector<double> us;
        const auto begin = Clock::now();
        do {
            check();
            const auto expert = static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(grid_.n_experts));
            const auto asked = Clock::now();
            const auto read = reader_->start({any_layer(), expert}, block(0), ExpertReader::Urgency::kNeeded);
            if (read == nullptr) return 0;
            reader_->wait(read);
            use(block(0), block_bytes_);
            const double used_us = seconds_from(asked) * 1e6;
            const auto again = Clock::now();
            use(block(0), block_bytes_);
            us.push_back(used_us - seconds_from(again) * 1e6);
        } while (us.size() < kReadsAlone && seconds_from(begin) < seconds);
        return median(us);
    }

  private:
    DirectExperts(const ExpertGrid& grid, kernels::ThreadPool& pool, const std::stop_token& stop)
        : grid_(grid), pool_(pool), stop_(stop), random_(std::random_device{}()) {}

    void check() const {
        if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, messages::measuring_disk_cancelled);
    }
    std::int32_t any_layer() {
        return static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(grid_.n_layers));
    }
    std::byte* block(std::int64_t n) {
        return memory_->data() + buffer_bytes_ + static_cast<std::uint64_t>(n) * block_bytes_;
    }
    void use(const std::byte* weights, std::uint64_t bytes) {
        pool_.parallel_for(static_cast<std::int64_t>(bytes), 4096, [&](std::int64_t from, std::int64_t to, int) {
            std::uint64_t part = 0;
            for (std::int64_t at = from; at < to; at += 64) part += static_cast<std::uint64_t>(weights[at]);
            sum_ += part;  // a use of the bytes, so that the compiler keeps the reads
        });
    }

    const ExpertGrid& grid_;
    kernels::ThreadPool& pool_;
    const std::stop_token& stop_;
    std::mt19937_64 random_;
    std::uint64_t block_bytes_ = 0, buffer_bytes_ = 0;
    std::atomic<std::uint64_t> sum_{0};
    std::optional<HostBuffer> memory_;  // outlives what is read into it
    std::unique_ptr<ExpertReader> reader_;
};

}  // namespace

DiskReadCost measure_direct_read(WeightSource& source, const ExpertGrid& grid, kernels::ThreadPool& pool,
                                 const std::stop_token& stop) {
    const std::int64_t n_experts = 2 * std::max<std::int64_t>(1, grid.n_active);
    const auto experts = DirectExperts::open(source, grid, pool, stop, n_experts);
    if (experts == nullptr) return {};
    DiskReadCost cost = experts->layers();
    if (cost.us == 0) return {};
    cost.check_us = experts->alone_us(kLayersSeconds);
    if (cost.check_us == 0) return {};
    cost.latency_us = std::max(0.0, cost.check_us - cost.us);
    return cost;
}

double direct_read_alone_us(WeightSource& source, const ExpertGrid& grid, kernels::ThreadPool& pool,
                            const std::stop_token& stop, double seconds) {
    const auto experts = DirectExperts::open(source, grid, pool, stop, 1);
    return experts != nullptr ? experts->alone_us(seconds) : 0;
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

double measure_disk_read_us(WeightSource& master, std::int64_t n_layers, std::int64_t n_experts,
                            std::uint64_t expert_bytes, kernels::ThreadPool& pool, const std::stop_token& stop,
                            bool cold, double seconds) {
    const std::int64_t n = n_layers * n_experts;
    auto* const disk = dynamic_cast<ColdExperts*>(&master);
    if (n <= 0 || (cold && disk != nullptr && !disk->make_cold(LayerIndex{0}, ExpertIndex{0}))) return 0;
    std::optional<HostBuffer> block = memory_for(expert_bytes);
    if (!block) return 0;
    // Far apart, so that the system's read-ahead for one does not bring the next.
    const std::int64_t n_reads = std::min(n, cold ? kMostReads : kMostCachedReads);
    const auto read = [&](std::int64_t i) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::measuring_disk_cancelled);
        const std::int64_t index = i * n / n_reads;
        const LayerIndex layer{static_cast<std::int32_t>(index / n_experts)};
        const ExpertIndex expert{static_cast<std::int32_t>(index % n_experts)};
        if (cold && disk != nullptr) disk->make_cold(layer, expert);
        const auto start = Clock::now();
        master.pack_expert(layer, expert, block->data(), pool);
        return seconds_from(start) * 1e6;
    };
    const auto pass = [&](std::int64_t most) {
        std::vector<double> us;
        const auto begin = Clock::now();
        for (std::int64_t i = 0; i < most && (i == 0 || seconds_from(begin) < seconds); ++i) {
            us.push_back(read(i));
        }
        return us;
    };
    std::vector<double> us = pass(n_reads);
    if (!cold) us = pass(static_cast<std::int64_t>(us.size()));
    return median(us);
}

}  // namespace offstage::engine
