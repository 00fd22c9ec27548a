#include "engine/experts/expert_reader.h"

#include <algorithm>
#include <cassert>
#include <ctime>
#include <utility>

#include "engine/error.h"

namespace offstage::engine {
namespace {

// Once all needed strips have been begun, guesses fill the disk's queue up to so many
// strips: more would not make the disk faster, and the next needed expert waits for no
// more than these.
constexpr int kKeepsDiskBusy = 8;

std::uint64_t aligned(std::uint64_t bytes) {
    return (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
}

// The aligned bytes around a range.
struct AroundRange {
    explicit AroundRange(const FileRange& range)
        : offset(range.offset / kDirectAlignment * kDirectAlignment),
          skipped(static_cast<std::size_t>(range.offset - offset)),
          least(static_cast<std::size_t>(skipped + range.bytes)),
          bytes(static_cast<std::size_t>(aligned(least))) {}
    std::uint64_t offset;
    std::size_t skipped, least, bytes;
};

// CPU time of the calling thread.
double thread_cpu_us() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

std::uint64_t buffer_bytes_of(const ExpertStrip& strip) {
    return AroundRange(strip.weights).bytes + (strip.exponents.bytes > 0 ? AroundRange(strip.exponents).bytes : 0);
}

}  // namespace

class ExpertReader::Read {
  public:
    std::vector<ExpertStrip> strips;
    kernels::ExpertLayout layout;
    std::byte* block = nullptr;
    std::uint64_t bytes = 0;  // of its strips
    // Guarded by the reader's mutex:
    std::size_t n_begun = 0;  // strips
    int n_under_way = 0;
    bool guess = false;
    bool closed = false;  // no further strip is begun
    bool whole = false;
    Message problem;

    bool is_done() const { return closed && n_under_way == 0; }
};

std::unique_ptr<ExpertReader> ExpertReader::open(const ExpertGrid& grid, const WeightSource& source,
                                                 DirectReads::Kind kind) {
    const auto* const experts = dynamic_cast<const FileExperts*>(&source);
    if (experts == nullptr || experts->files().empty()) return nullptr;
    return std::unique_ptr<ExpertReader>(new ExpertReader(grid, source.expert_type(), *experts, kind));
}

ExpertReader::ExpertReader(const ExpertGrid& grid, kernels::WeightType master, const FileExperts& experts,
                           DirectReads::Kind kind)
    : grid_(grid), master_(master), experts_(experts) {
    for (const RegularFile* file : experts.files()) files_.push_back(std::make_unique<DirectFile>(*file));
    reads_ = DirectReads::open(kind, 2 * kMostReadsAtOnce);
}

ExpertReader::~ExpertReader() {
    {
        std::unique_lock lock(mutex_);
        for (std::deque<Handle>* queue : {&needed_, &guessed_}) {
            for (const Handle& read : *queue) read->closed = true;
            queue->clear();
        }
        changed_.wait(lock, [&] { return n_under_way() == 0; });
    }
    reads_->stop();
}

void ExpertReader::set_buffers(const ReadBuffers& buffers, std::byte* memory) {
    const std::lock_guard lock(mutex_);
    assert(n_under_way() == 0 && needed_.empty() && guessed_.empty());
    buffers_ = buffers;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    memory_ = memory == nullptr ? nullptr : memory + (aligned(address) - address);
    free_.clear();
    flights_.clear();
    reads_->set_memory(memory == nullptr
                           ? std::span<std::byte>()
                           : std::span(memory_, static_cast<std::size_t>(buffers.bytes() - kDirectAlignment)));
    if (memory == nullptr) return;
    flights_.resize(static_cast<std::size_t>(buffers.n));
    for (std::size_t i = 0; i < flights_.size(); ++i) free_.push_back(i);
}

ExpertReader::Handle ExpertReader::start(ExpertKey expert, std::byte* block, Urgency urgency) {
    if (memory_ == nullptr) return nullptr;
    auto read = std::make_shared<Read>();
    read->strips = experts_.expert_strips(LayerIndex{expert.layer}, ExpertIndex{expert.expert}, buffers_.strip_bytes);
    if (read->strips.empty()) return nullptr;
    for (const ExpertStrip& strip : read->strips) {
        if (buffer_bytes_of(strip) > buffers_.buffer_bytes) return nullptr;
        read->bytes += strip.weights.bytes + strip.exponents.bytes;
    }
    read->layout = grid_.layout(grid_.stored(master_, expert.layer));
    read->block = block;
    read->guess = urgency == Urgency::kGuess;
    const std::lock_guard lock(mutex_);
    if (threads_.empty()) {
        for (int i = 0; i < reads_->n_waiting(); ++i) threads_.emplace_back([this] { work(); });
    }
    ++(read->guess ? counts_.guessed : counts_.needed);
    if (!read->guess) counts_.needed_bytes += read->bytes;
    (read->guess ? guessed_ : needed_).push_back(read);
    wake();
    return read;
}

void ExpertReader::need(const Handle& read) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(read->guess, false)) return;
    ++counts_.used_guesses;
    counts_.needed_bytes += read->bytes;
    const auto found = std::find(guessed_.begin(), guessed_.end(), read);
    if (found == guessed_.end()) return;
    guessed_.erase(found);
    needed_.push_back(read);
    wake();
}

bool ExpertReader::is_done(const Handle& read) const {
    const std::lock_guard lock(mutex_);
    return read->is_done();
}

bool ExpertReader::is_whole(const Handle& read) const {
    const std::lock_guard lock(mutex_);
    return read->whole;
}

void ExpertReader::wait(const Handle& read) {
    drain(read);
    if (!read->problem.empty()) throw Error(ErrorKind::kInvalidModel, read->problem);
    assert(read->whole);
}

void ExpertReader::drain(const Handle& read) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return read->is_done(); });
}

void ExpertReader::cancel(const Handle& read) {
    const std::lock_guard lock(mutex_);
    if (read->closed) return;
    ++counts_.cancelled;
    close(*read);
}

ExpertReader::Counts ExpertReader::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

// With the mutex, as all that follow.
void ExpertReader::close(Read& read) {
    read.closed = true;
    for (std::deque<Handle>* queue : {&needed_, &guessed_}) {
        std::erase_if(*queue, [&](const Handle& other) { return other.get() == &read; });
    }
}

// Beginning reads takes the system some time, which the caller need not wait for.
void ExpertReader::wake() {
    if (!can_begin() || std::exchange(woken_, true)) return;
    reads_->wake();
}

void ExpertReader::begin_strips() {
    begun_.clear();
    while (can_begin()) {
        std::deque<Handle>* queue = &needed_;
        if (needed_.empty()) {
            if (n_under_way() >= kKeepsDiskBusy) break;
            queue = &guessed_;
        }
        if (queue->empty()) break;
        const Handle read = queue->front();
        const std::size_t buffer = free_.front();
        free_.pop_front();
        flights_[buffer] = {read, read->n_begun++, 0, queue == &guessed_, {}};
        ++read->n_under_way;
        ++(flights_[buffer].guess ? n_guessed_strips_ : n_needed_strips_);
        if (read->n_begun == read->strips.size()) {
            queue->pop_front();
            read->closed = true;
        }
        prepare(buffer);
    }
    if (!begun_.empty()) reads_->submit(begun_);
}

void ExpertReader::prepare(std::size_t buffer) {
    Flight& flight = flights_[buffer];
    const ExpertStrip& strip = flight.read->strips[flight.strip];
    flight.n_left = strip.exponents.bytes > 0 ? 2 : 1;
    std::byte* to = memory_ + buffer * buffers_.buffer_bytes;
    const auto begin = [&](const FileRange& range, std::uint64_t id) {
        const AroundRange around(range);
        counts_.bytes += around.bytes;
        begun_.push_back({files_[range.file].get(), around.offset, to, around.bytes, around.least, id});
        to += around.bytes;
    };
    begin(strip.weights, buffer);
    if (flight.n_left == 2) begin(strip.exponents, buffer);
}

const std::byte* ExpertReader::data_of(std::size_t buffer, bool exponents) const {
    const Flight& flight = flights_[buffer];
    const ExpertStrip& strip = flight.read->strips[flight.strip];
    const std::byte* const begin = memory_ + buffer * buffers_.buffer_bytes;
    const AroundRange weights(strip.weights);
    return exponents ? begin + weights.bytes + AroundRange(strip.exponents).skipped : begin + weights.skipped;
}

void ExpertReader::work() {
    double cpu_us = thread_cpu_us();
    while (auto result = reads_->wait()) {
        if (result->id == kNoRead) {
            const std::lock_guard lock(mutex_);
            woken_ = false;
            begin_strips();
            continue;
        }
        const auto buffer = static_cast<std::size_t>(result->id);
        std::unique_lock lock(mutex_);
        Flight& flight = flights_[buffer];
        if (flight.problem.empty()) flight.problem = std::move(result->problem);
        if (--flight.n_left > 0) continue;
        Read& read = *flight.read;
        // The data of a cancelled read is not used, though its block is still there.
        if (flight.problem.empty() && read.problem.empty()) {
            const ExpertStrip& strip = read.strips[flight.strip];
            const std::byte* const weights = data_of(buffer, false);
            const std::byte* const exponents = strip.exponents.bytes > 0 ? data_of(buffer, true) : nullptr;
            lock.unlock();
            pack_strip(strip, weights, exponents, read.layout, read.block);
            lock.lock();
        }
        const double now_us = thread_cpu_us();
        counts_.cpu_us += now_us - std::exchange(cpu_us, now_us);
        finish(buffer);
    }
}

void ExpertReader::finish(std::size_t buffer) {
    Flight& flight = flights_[buffer];
    const Handle read = std::move(flight.read);
    --(flight.guess ? n_guessed_strips_ : n_needed_strips_);
    --read->n_under_way;
    if (!flight.problem.empty()) {
        if (read->problem.empty()) read->problem = std::move(flight.problem);
        close(*read);
    }
    read->whole = read->is_done() && read->problem.empty() && read->n_begun == read->strips.size();
    flight = {};
    free_.push_back(buffer);
    begin_strips();
    if (read->is_done() || n_under_way() == 0) changed_.notify_all();
}

}  // namespace offstage::engine
