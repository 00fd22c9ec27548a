#include "engine/run/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {

using kernels::kKvBlockTokens;

KvCache::KvCache(const KvLayout& layout, std::span<const KvRoom> rooms, Backend& device, Arena& ram) {
    assert(layout.groups.size() == rooms.size());
    if (!device.shares_host_memory() && !device.info().emulated) locker_ = std::make_unique<PageLocker>(device);
    for (std::size_t g = 0; g < rooms.size(); ++g) {
        pools_.push_back(std::make_unique<KvPool>(layout.groups[g], rooms[g], device, ram, locker_.get()));
        if (!layout.groups[g].keeps_type()) type_ = layout.groups[g].shape.type;
    }
}

std::int64_t KvCache::n_held_in_host() const {
    std::int64_t n = 0;
    for (const auto& pool : pools_) n += pool->n_held_in_host();
    return n;
}

bool KvCache::has_states() const {
    return std::any_of(pools_.begin(), pools_.end(), [](const auto& pool) { return pool->is_state(); });
}

bool KvCache::keeps_all() const {
    return std::all_of(pools_.begin(), pools_.end(), [](const auto& pool) { return pool->keeps_all(); });
}

void KvCache::resize(std::span<const KvRoom> rooms) {
    for_each_group(rooms, [&](std::size_t g) {
        pools_[g]->resize(rooms[g]);
        return true;
    });
    wait_for_memory();
}

bool KvCache::holds_more_than(std::span<const KvRoom> rooms) const {
    for (std::size_t g = 0; g < pools_.size(); ++g) {
        if (pools_[g]->n_blocks() - pools_[g]->n_free() > rooms[g].n_blocks()) return true;
    }
    return false;
}

bool KvCache::approach(std::span<const KvRoom> rooms, std::uint64_t most_bytes) {
    const bool reached = for_each_group(rooms, [&](std::size_t g) {
        const auto block_bytes = static_cast<std::uint64_t>(pools_[g]->shape().block_bytes());
        return pools_[g]->approach(rooms[g],
                                   static_cast<std::int64_t>(std::max<std::uint64_t>(1, most_bytes / block_bytes)));
    });
    return reached && (locker_ == nullptr || !locker_->busy());
}

bool KvCache::for_each_group(std::span<const KvRoom> rooms, const std::function<bool(std::size_t group)>& step) {
    while (holds_more_than(rooms) && (give_up(GiveUp::kEnds) || give_up(GiveUp::kWhole) || give_up(GiveUp::kRunning))) {
    }
    std::vector<std::size_t> order;
    for (const bool smaller : {true, false}) {
        for (std::size_t g = 0; g < pools_.size(); ++g) {
            if ((rooms[g].n_blocks() < pools_[g]->n_blocks()) == smaller) order.push_back(g);
        }
    }
    return std::all_of(order.begin(), order.end(), step);
}

void KvCache::wait_for_memory() {
    if (locker_ != nullptr) locker_->wait();
}

void KvCache::drop_prepared() {
    bool any = false;
    for (const auto& pool : pools_) any |= pool->drop_prepared();
    if (any) wait_for_memory();  // others may have it then
}

void KvCache::bring_to_device() {
    for (const auto& pool : pools_) pool->bring_to_device();
}

void KvCache::retype(kernels::KvType type) {
    const kernels::KvType before = this->type();
    while (type != before && give_up(GiveUp::kWhole)) {
    }
    std::size_t done = 0;
    try {
        for (; done < pools_.size(); ++done) pools_[done]->retype(type);
    } catch (const Error&) {
        while (done > 0) pools_[--done]->retype(before);
        throw;
    }
    type_ = type;
}

bool KvCache::prepare_retype(kernels::KvType type, std::span<const KvRoom> rooms) {
    bool ready = true;
    for (std::size_t g = 0; g < pools_.size(); ++g) ready = pools_[g]->prepare_retype(type, rooms[g]) && ready;
    return ready;
}

// ---------------------------------------------------------------- sequences

KvSequence::KvSequence(KvCache& cache, std::int64_t capacity)
    : cache_(&cache), tables_(cache.n_groups()), capacity_(capacity) {}

KvSequence::~KvSequence() {
    if (cache_ == nullptr) return;
    set_idle(false);
    clear();
}

KvSequence::KvSequence(KvSequence&& other) noexcept {
    *this = std::move(other);
}

KvSequence& KvSequence::operator=(KvSequence&& other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(tables_, other.tables_);
    std::swap(checkpoints_, other.checkpoints_);
    std::swap(written_, other.written_);
    std::swap(cut_steps_, other.cut_steps_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
    std::swap(idle_, other.idle_);
    std::swap(is_fork_, other.is_fork_);
    return *this;
}

void KvSequence::set_capacity(std::int64_t n_tokens) {
    if (n_tokens < size_) {
        throw Error(ErrorKind::kInvalidInput, messages::context_below_use(n_tokens, size_));
    }
    capacity_ = n_tokens;
}

void KvSequence::share(const std::vector<Table>& tables) const {
    for (std::size_t g = 0; g < tables.size(); ++g) {
        for (const std::int32_t block : tables[g].blocks) cache_->pool(g).share(block);
    }
}

void KvSequence::drop(const std::vector<Table>& tables) {
    for (std::size_t g = 0; g < tables.size(); ++g) {
        for (const std::int32_t block : tables[g].blocks) cache_->pool(g).drop(block);
    }
}

bool KvSequence::parts_from_last(std::size_t group) const {
    return size_ % kKvBlockTokens > 0 && !cache_->pool(group).is_state() &&
           cache_->pool(group).is_shared(tables_[group].at(size_ / kKvBlockTokens));
}

// Of the states that a step writes, whether the pool has none for some.
bool KvSequence::lacks_states(std::size_t group, std::size_t n_states) const {
    const KvPool& pool = cache_->pool(group);
    return pool.is_state() && as_size(pool.n_free()) + tables_[group].next_states.size() < n_states;
}

void KvSequence::drop_next_states(std::size_t group, std::size_t n_kept) {
    std::vector<std::int32_t>& states = tables_[group].next_states;
    for (; states.size() > n_kept; states.pop_back()) cache_->pool(group).drop(states.back());
}

bool KvSequence::has_room_for(std::int64_t n_tokens, std::size_t n_states) const {
    for (std::size_t g = 0; g < tables_.size(); ++g) {
        if (lacks_states(g, n_states)) return false;
        if (cache_->pool(g).is_state()) continue;
        const std::int64_t more = std::max<std::int64_t>(0, kv_blocks_for(size_ + n_tokens) - tables_[g].end());
        if (more + (parts_from_last(g) ? 1 : 0) > cache_->pool(g).n_free()) return false;
    }
    return true;
}

// Beams, several answers and drafts need states for which no plan has room.
bool KvSequence::grow_states(std::size_t n_states) {
    for (std::size_t g = 0; g < tables_.size(); ++g) {
        if (lacks_states(g, n_states)) return cache_->pool(g).add_block();
    }
    return false;
}

std::int64_t KvSequence::room_for_drafts(std::int64_t most) {
    for (; most > 0; --most) {
        const std::size_t n_states = as_size(1 + most);
        while (!has_room_for(1 + most, n_states) && grow_states(n_states)) {
        }
        if (has_room_for(1 + most, n_states)) break;
    }
    return most;
}

bool KvSequence::prepare(std::int64_t n_tokens, Backend& device, std::size_t n_states) {
    assert(cache_ != nullptr);
    assert(!idle_);
    while (!has_room_for(n_tokens, n_states)) {
        if (cache_->give_up(KvCache::GiveUp::kEnds) || give_up_checkpoint()) continue;
        if (is_fork_ && grow_states(n_states)) continue;
        if (cache_->give_up(KvCache::GiveUp::kWhole) || grow_states(n_states)) continue;
        if (checkpoints_.empty()) return false;
        drop_first_checkpoint();
    }
    for (std::size_t g = 0; g < tables_.size(); ++g) {
        KvPool& pool = cache_->pool(g);
        Table& table = tables_[g];
        if (pool.is_state()) {
            drop_next_states(g, n_states);
            while (table.next_states.size() < n_states) table.next_states.push_back(pool.take());
            continue;
        }
        if (parts_from_last(g)) {
            std::int32_t& last = table.at(size_ / kKvBlockTokens);
            const std::int32_t own = pool.take();
            device.submit(ops::CopyKvBlock{pool.shape(), pool.block(last), pool.shape().type, pool.block(own),
                                           size_ % kKvBlockTokens});
            pool.drop(last);
            last = own;
        }
        while (table.end() < kv_blocks_for(size_ + n_tokens)) table.blocks.push_back(pool.take());
    }
    return true;
}

void KvSequence::commit(std::span<const TokenId> tokens, std::int32_t n_together, std::uint32_t step) {
    const bool alone = n_together > 0;
    std::int32_t place = 0;
    for (const TokenId token : tokens) {
        written_.push_back({token, n_together, alone ? place++ : 0, n_together == WrittenToken::kInAnyStep ? 0 : step});
    }
    commit(static_cast<std::int64_t>(tokens.size()));
}

std::int64_t KvSequence::first_after(std::size_t group, std::int64_t n_tokens) const {
    const Table& table = tables_[group];
    const std::int64_t window = cache_->pool(group).window();
    if (window == 0) return table.first;
    return std::max(table.first, (size_ + n_tokens - window - kPromptEndTokens) / kKvBlockTokens);
}

void KvSequence::commit(std::int64_t n_tokens) {
    size_ += n_tokens;
    written_.resize(static_cast<std::size_t>(size_));
    for (std::size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        if (cache_->pool(g).is_state()) {
            for (const std::int32_t block : table.blocks) cache_->pool(g).drop(block);
            table.blocks = {table.next_states.front()};
            table.next_states.erase(table.next_states.begin());
            continue;
        }
        const std::int64_t n = first_after(g, 0) - table.first;
        for (std::int64_t i = 0; i < n; ++i) cache_->pool(g).drop(table.blocks[static_cast<std::size_t>(i)]);
        table.blocks.erase(table.blocks.begin(), table.blocks.begin() + n);
        table.first += n;
    }
}

bool KvSequence::reaches(const std::vector<Table>& tables, std::int64_t size, std::int64_t n_tokens,
                         bool or_before) const {
    for (std::size_t g = 0; g < tables.size(); ++g) {
        if (cache_->pool(g).is_state() && (or_before ? size > n_tokens : size != n_tokens)) return false;
        const std::int64_t first_seen = n_tokens + 1 - cache_->pool(g).window();
        if (tables[g].first > 0 && tables[g].first * kKvBlockTokens > first_seen) return false;
    }
    return true;
}

void KvSequence::drop_first_checkpoint() {
    drop(checkpoints_.front().tables);
    checkpoints_.erase(checkpoints_.begin());
}

bool KvSequence::give_up_checkpoint() {
    if (checkpoints_.size() < 2) return false;
    drop_first_checkpoint();
    return true;
}

const KvSequence::Checkpoint* KvSequence::checkpoint_for(std::int64_t n_tokens) const {
    const auto found = std::find_if(checkpoints_.rbegin(), checkpoints_.rend(), [&](const Checkpoint& one) {
        return reaches(one.tables, one.size, n_tokens, true);
    });
    return found == checkpoints_.rend() ? nullptr : &*found;
}

std::int64_t KvSequence::reach(std::int64_t n_tokens) const {
    n_tokens = std::min(n_tokens, size_);
    if (reaches(tables_, size_, n_tokens, false)) return n_tokens;
    const Checkpoint* const found = checkpoint_for(n_tokens);
    return found == nullptr ? 0 : std::min(n_tokens, found->size);
}

// The last step that is left of may have been cut before.
void KvSequence::cut_written(std::size_t n_tokens) {
    CutStep cut{n_tokens, {}};
    std::size_t n_rest = 0;
    if (n_tokens > 0 && written_[n_tokens - 1].n_together > 0) {
        const WrittenToken& last = written_[n_tokens - 1];
        n_rest = static_cast<std::size_t>(last.n_together - last.place - 1);
        std::size_t at = n_tokens;
        for (; at < written_.size() && cut.rest.size() < n_rest && written_[at].step == last.step; ++at) {
            cut.rest.push_back(written_[at].token);
        }
        const auto before =
            std::find_if(cut_steps_.begin(), cut_steps_.end(), [&](const CutStep& one) { return one.end == at; });
        if (before != cut_steps_.end()) cut.rest.insert(cut.rest.end(), before->rest.begin(), before->rest.end());
    }
    while (!cut_steps_.empty() && cut_steps_.back().end >= n_tokens) cut_steps_.pop_back();
    if (n_rest > 0 && cut.rest.size() == n_rest) cut_steps_.push_back(std::move(cut));
    written_.resize(n_tokens);
}

std::int64_t KvSequence::truncate(std::int64_t n_tokens) {
    assert(!idle_);
    for (std::size_t g = 0; g < tables_.size(); ++g) drop_next_states(g, 0);
    n_tokens = std::min(n_tokens, size_);
    if (!reaches(tables_, size_, n_tokens, false)) {
        const Checkpoint* const found = checkpoint_for(n_tokens);
        n_tokens = found == nullptr ? 0 : std::min(n_tokens, found->size);
        if (n_tokens > 0) share(found->tables);
        for (std::size_t g = 0; n_tokens > 0 && g < tables_.size(); ++g) {
            if (cache_->pool(g).keeps_all()) continue;
            for (const std::int32_t block : tables_[g].blocks) cache_->pool(g).drop(block);
            tables_[g] = found->tables[g];
        }
    }
    size_ = n_tokens;
    cut_written(static_cast<std::size_t>(size_));
    for (std::size_t g = 0; g < tables_.size(); ++g) {
        Table& table = tables_[g];
        if (cache_->pool(g).is_state() && size_ > 0) continue;
        for (; table.end() > std::max(table.first, kv_blocks_for(size_)); table.blocks.pop_back()) {
            cache_->pool(g).drop(table.blocks.back());
        }
        if (size_ == 0) table.first = 0;
    }
    while (!checkpoints_.empty() && checkpoints_.back().size > size_) {
        drop(checkpoints_.back().tables);
        checkpoints_.pop_back();
    }
    return size_;
}

KvSequence::Table KvSequence::held(std::size_t group) const {
    Table table = tables_[group];
    table.next_states.clear();
    if (!cache_->pool(group).is_state()) {
        table.blocks.resize(static_cast<std::size_t>(kv_blocks_for(size_) - table.first));
    }
    return table;
}

void KvSequence::checkpoint() {
    if (!checkpoints_.empty() && checkpoints_.back().size == size_) return;
    Checkpoint now{size_, std::vector<Table>(tables_.size())};
    bool any = false;
    for (std::size_t g = 0; g < tables_.size(); ++g) {
        if (cache_->pool(g).keeps_all()) continue;
        any = true;
        now.tables[g] = held(g);
    }
    if (!any) return;
    share(now.tables);
    checkpoints_.push_back(std::move(now));
    if (checkpoints_.size() > kMostCheckpoints) drop_first_checkpoint();
}

KvSequence KvSequence::fork() const {
    KvSequence copy(*cache_, capacity_);
    copy.size_ = size_;
    copy.written_ = written_;
    copy.cut_steps_ = cut_steps_;
    for (std::size_t g = 0; g < tables_.size(); ++g) copy.tables_[g] = held(g);
    share(copy.tables_);
    copy.is_fork_ = true;
    return copy;
}

KvSequence KvSequence::copy() const {
    KvSequence copy = fork();
    copy.is_fork_ = is_fork_;
    copy.checkpoints_ = checkpoints_;
    for (const Checkpoint& one : checkpoints_) share(one.tables);
    return copy;
}

void KvSequence::restore(std::vector<Table> tables, std::vector<Checkpoint> checkpoints,
                         std::vector<WrittenToken> written, std::vector<CutStep> cut_steps, std::int64_t n_tokens) {
    assert(size_ == 0 && !idle_);
    tables_ = std::move(tables);
    checkpoints_ = std::move(checkpoints);
    written_ = std::move(written);
    cut_steps_ = std::move(cut_steps);
    size_ = static_cast<std::int64_t>(written_.size());
    truncate(n_tokens);
}

// ---------------------------------------------------------------- idle ones

void KvSequence::mark_idle(const std::vector<Table>& tables, bool idle) const {
    for (std::size_t g = 0; g < tables.size(); ++g) {
        for (const std::int32_t block : tables[g].blocks) cache_->pool(g).set_idle(block, idle);
    }
}

void KvSequence::set_idle(bool idle) {
    if (idle == idle_) return;
    if (idle) truncate(size_);  // a step that was not made may have taken blocks
    mark_idle(tables_, idle);
    for (const Checkpoint& one : checkpoints_) mark_idle(one.tables, idle);
    idle_ = idle;
}

bool KvSequence::give_up_end() {
    if (size_ == 0) return false;
    const std::int64_t kept = cache_->keeps_all()    ? (kv_blocks_for(size_) - 1) * kKvBlockTokens
                              : checkpoints_.empty() ? size_
                                                     : checkpoints_.back().size;
    if (checkpoints_.size() < 2 && kept >= size_) return false;
    const bool was_idle = idle_;
    set_idle(false);
    if (!give_up_checkpoint()) truncate(kept);
    set_idle(was_idle);
    return true;
}

}  // namespace offstage::engine
