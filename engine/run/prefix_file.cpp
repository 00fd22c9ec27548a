#include "engine/run/prefix_file.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/as_size.h"
#include "engine/files/file_writer.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;
using kernels::kKvBlockTokens;

constexpr std::uintmax_t kMostEndBytes = std::uintmax_t{1} << 30;
constexpr std::uint64_t kEndMark = 0x0100'4b56'5846'464fu;  // "OFFXVK", version 1
constexpr std::size_t kMarkWords = 3, kSealWords = 2;

std::string blocks_file(const std::string& name) {
    return name + ".kv";
}

std::string end_file(const std::string& name) {
    return name + ".end";
}

void only_for_owner(const std::string& file) {
    std::error_code ignored;
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, ignored);
}

Fingerprint seal_of(std::span<const std::uint64_t> words) {
    return fingerprint_of(std::as_bytes(words));
}

std::uint64_t word_of(std::int32_t high, std::uint32_t low) {
    return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | low;
}

void add_table(std::vector<std::uint64_t>& words, const KvSequence::Table& table) {
    words.insert(words.end(), {static_cast<std::uint64_t>(table.first), table.blocks.size()});
    words.insert(words.end(), table.blocks.begin(), table.blocks.end());
}

std::vector<std::uint64_t> words_of(const KeptPrefix& prefix, const Fingerprint& identity) {
    std::vector<std::uint64_t> words = {kEndMark, identity.high, identity.low, prefix.written.size()};
    for (const WrittenToken& one : prefix.written) {
        words.push_back(word_of(one.token, static_cast<std::uint32_t>(one.n_together)));
        words.push_back(word_of(one.place, one.step));
    }
    words.push_back(prefix.cut_steps.size());
    for (const KvSequence::CutStep& cut : prefix.cut_steps) {
        words.insert(words.end(), {cut.end, cut.rest.size()});
        for (const TokenId token : cut.rest) words.push_back(static_cast<std::uint32_t>(token));
    }
    words.insert(words.end(), {static_cast<std::uint64_t>(prefix.checkpoint), prefix.groups.size()});
    for (const KeptPrefix::Group& group : prefix.groups) {
        words.push_back(group.blocks.size());
        for (const Fingerprint& block : group.blocks) words.insert(words.end(), {block.high, block.low});
        add_table(words, group.now);
        add_table(words, group.at_checkpoint);
    }
    const Fingerprint seal = seal_of(words);
    words.insert(words.end(), {seal.high, seal.low});
    return words;
}

// Reads words_of(), whose seal was compared: `ok` is false where it ends too early.
struct WordReader {
    std::span<const std::uint64_t> left;
    bool ok = true;

    std::uint64_t next() {
        if (left.empty()) {
            ok = false;
            return 0;
        }
        const std::uint64_t word = left.front();
        left = left.subspan(1);
        return word;
    }
    // Of things of at least so many words.
    std::size_t count(std::size_t n_words) {
        const std::uint64_t n = next();
        ok = ok && n <= left.size() / n_words;
        return ok ? static_cast<std::size_t>(n) : 0;
    }
    KvSequence::Table table(std::size_t n_blocks) {
        KvSequence::Table table;
        table.first = static_cast<std::int64_t>(next());
        table.blocks.resize(count(1));
        for (std::int32_t& block : table.blocks) {
            const std::uint64_t place = next();
            ok = ok && place < n_blocks;
            block = static_cast<std::int32_t>(place);
        }
        return table;
    }
};

std::optional<KeptPrefix> prefix_of(WordReader words) {
    KeptPrefix prefix;
    prefix.written.resize(words.count(2));
    for (WrittenToken& one : prefix.written) {
        const std::uint64_t token = words.next(), step = words.next();
        one = {static_cast<TokenId>(token >> 32), static_cast<std::int32_t>(token),
               static_cast<std::int32_t>(step >> 32), static_cast<std::uint32_t>(step)};
    }
    prefix.cut_steps.resize(words.count(2));
    for (KvSequence::CutStep& cut : prefix.cut_steps) {
        cut.end = words.next();
        cut.rest.resize(words.count(1));
        for (TokenId& token : cut.rest) token = static_cast<TokenId>(words.next());
    }
    prefix.checkpoint = static_cast<std::int64_t>(words.next());
    prefix.groups.resize(words.count(1));
    for (KeptPrefix::Group& group : prefix.groups) {
        group.blocks.resize(words.count(2));
        for (Fingerprint& block : group.blocks) {
            block.high = words.next();
            block.low = words.next();
        }
        group.now = words.table(group.blocks.size());
        group.at_checkpoint = words.table(group.blocks.size());
    }
    if (!words.ok || !words.left.empty()) return std::nullopt;
    return prefix;
}

// The table with the blocks' places in `numbers` instead of their numbers, which are
// appended there where they are missing.
KvSequence::Table in_places(KvSequence::Table table, std::vector<std::int32_t>& numbers) {
    for (std::int32_t& block : table.blocks) {
        const auto found = std::find(numbers.begin(), numbers.end(), block);
        const auto place = std::distance(numbers.begin(), found);
        if (found == numbers.end()) numbers.push_back(block);
        block = static_cast<std::int32_t>(place);
    }
    return table;
}

// Steps numbered from 1 on, so that those of two programs can be compared.
std::vector<WrittenToken> numbered_steps(std::span<const WrittenToken> written) {
    std::vector<WrittenToken> numbered(written.begin(), written.end());
    std::uint32_t n = 0, last = 0;
    for (WrittenToken& one : numbered) {
        if (one.step != 0 && one.step != last) ++n;
        last = one.step;
        if (one.step != 0) one.step = n;
    }
    return numbered;
}

// Tokens whose keys and values are the same bits in both: whole steps.
std::size_t common_bits(const KeptPrefix& a, const KeptPrefix& b) {
    const auto n = std::min(a.written.size(), b.written.size());
    std::size_t i = 0;
    while (i < n && a.written[i] == b.written[i] && a.written[i].n_together != WrittenToken::kBesideOthers) ++i;
    while (i > 0 && a.written[i - 1].n_together > 0 && a.written[i - 1].place + 1 < a.written[i - 1].n_together) --i;
    return i;
}

std::int64_t common_tokens(const KeptPrefix& prefix, std::span<const TokenId> prompt) {
    if (prompt.empty()) return 0;
    const auto [held, wanted] =
        std::mismatch(prefix.written.begin(), prefix.written.end(), prompt.begin(), prompt.end() - 1,
                      [](const WrittenToken& one, TokenId token) { return one.token == token; });
    return std::distance(prompt.begin(), wanted);
}

// Removes the longest unused pairs of the folder but for this one.
void trim(const std::string& spared, std::uint64_t most_bytes) {
    struct Pair {
        std::string name;
        std::uint64_t bytes = 0;
        fs::file_time_type used;
    };
    std::vector<Pair> pairs;
    std::uint64_t bytes = 0;
    std::error_code error;
    for (fs::directory_iterator entry(fs::path(spared).parent_path(), error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = fs::path(entry->path()).replace_extension().string();
        std::error_code missing;
        if (entry->path().extension() == ".end" && !fs::exists(blocks_file(name), missing)) {
            fs::remove(entry->path(), missing);  // its conversation was deleted
        }
        if (entry->path().extension() != ".kv") continue;
        Pair pair{name, 0, {}};
        for (const std::string& file : {blocks_file(pair.name), end_file(pair.name)}) {
            const std::uint64_t size = fs::file_size(file, missing);
            if (missing) continue;
            pair.bytes += size;
            pair.used = fs::last_write_time(file, missing);
        }
        bytes += pair.bytes;
        if (pair.name != spared && pair.bytes > 0) pairs.push_back(std::move(pair));
    }
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.used < b.used; });
    for (const Pair& pair : pairs) {
        if (bytes <= most_bytes) return;
        fs::remove(end_file(pair.name), error);
        fs::remove(blocks_file(pair.name), error);
        bytes -= pair.bytes;
    }
}

// When it was last changed; empty: it is missing.
std::string time_of(const fs::path& file) {
    std::error_code error;
    const auto time = fs::last_write_time(file, error);
    return error ? std::string() : std::to_string(time.time_since_epoch().count());
}

}  // namespace

// ---------------------------------------------------------------- which results

std::string PrefixFile::program_build() {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const auto size = error ? 0 : fs::file_size(program, error);
    return std::to_string(size) + "/" + time_of(program);
}

void PrefixFile::open(LoadedModel& model, const std::string& build) {
    model_ = &model;
    const auto fingerprint = model.source().master().model_fingerprint();
    is_known_ = fingerprint.has_value();
    if (!is_known_) return;
    const ModelSummary& summary = model.summary();
    std::string text = build;
    for (const std::string& part :
         {fingerprint->text(), time_of(model.request().model), summary.device, summary.device_name, summary.compute,
          summary.device_compute, summary.instruction_set}) {
        text += '\n';
        text += part;
    }
    identity_ = fingerprint_of(std::as_bytes(std::span(text)));
}

// What changes while a model is loaded: the types of keys, the experts' formats, and the
// neurons that are left out.
Fingerprint PrefixFile::identity() const {
    std::vector<Fingerprint> parts = {identity_};
    for (const FormatId format : model_->plan().formats) parts.push_back({0, static_cast<std::uint64_t>(format)});
    const ThetaChoice& theta = model_->theta();
    parts.push_back({std::bit_cast<std::uint64_t>(theta.theta), std::bit_cast<std::uint64_t>(theta.loss)});
    for (std::size_t g = 0; g < model_->kv().n_groups(); ++g) {
        const KvPool& pool = model_->kv().pool(g);
        parts.push_back({static_cast<std::uint64_t>(pool.shape().type), block_bytes(g)});
        parts.push_back({static_cast<std::uint64_t>(pool.window()), pool.is_state()});
    }
    return combine(parts, static_cast<std::uint64_t>(theta.guesses));
}

// ---------------------------------------------------------------- where blocks lie

std::uint64_t PrefixFile::block_bytes(std::size_t group) const {
    return static_cast<std::uint64_t>(model_->kv().pool(group).shape().block_bytes());
}

std::uint64_t PrefixFile::place_of(const KeptPrefix& prefix, std::size_t group, std::size_t place) const {
    const KvCache& cache = model_->kv();
    std::uint64_t row = 0, before = 0;  // bytes of a block of each group that keeps everything
    for (std::size_t g = 0; g < cache.n_groups(); ++g) {
        if (!cache.pool(g).keeps_all()) continue;
        row += block_bytes(g);
        if (g < group) before += block_bytes(g);
    }
    if (cache.pool(group).keeps_all()) return place * row + before;
    std::uint64_t bytes = row * as_size(kv_blocks_for(std::ssize(prefix.written)));
    for (std::size_t g = 0; g < group; ++g) {
        if (!cache.pool(g).keeps_all()) bytes += prefix.groups[g].blocks.size() * block_bytes(g);
    }
    return bytes + place * block_bytes(group);
}

std::uint64_t PrefixFile::bytes_of(const KeptPrefix& prefix) const {
    std::uint64_t bytes = 0;
    for (std::size_t g = 0; g < prefix.groups.size(); ++g) bytes += prefix.groups[g].blocks.size() * block_bytes(g);
    return bytes;
}

// ---------------------------------------------------------------- reading

std::optional<KeptPrefix> PrefixFile::load(const std::string& name) {
    if (!is_known_) return std::nullopt;
    std::error_code failure;
    if (!fs::is_regular_file(end_file(name), failure)) return std::nullopt;
    const std::uintmax_t n_bytes = fs::file_size(end_file(name), failure);
    if (failure) return std::nullopt;
    if (n_bytes > kMostEndBytes) {
        remove_damaged(name, end_file(name));
        return std::nullopt;
    }
    std::vector<std::uint64_t> words(as_size(n_bytes) / sizeof(std::uint64_t));
    std::ifstream file(end_file(name), std::ios::binary);
    file.read(reinterpret_cast<char*>(words.data()),
              static_cast<std::streamsize>(words.size() * sizeof(std::uint64_t)));
    if (!file) return std::nullopt;
    std::optional<KeptPrefix> prefix;
    if (words.size() >= kMarkWords + kSealWords) {
        const auto sealed = std::span<const std::uint64_t>(words).first(words.size() - kSealWords);
        if (seal_of(sealed) == Fingerprint{words[sealed.size()], words[sealed.size() + 1]}) {
            if (words[0] != kEndMark || Fingerprint{words[1], words[2]} != identity()) return std::nullopt;
            prefix = prefix_of({sealed.subspan(kMarkWords)});
        }
    }
    if (!prefix) remove_damaged(name, end_file(name));
    return prefix;
}

std::optional<KeptPrefix> PrefixFile::find(const std::string& name, std::span<const TokenId> prompt,
                                           std::int64_t n_at_least) {
    if (writing_ && writing_->name == name) keep_complete();
    std::optional<KeptPrefix> prefix = load(name);
    if (prefix && common_tokens(*prefix, prompt) < n_at_least) return std::nullopt;
    return prefix;
}

// One each of the prefix's blocks, or of those for so many tokens.
bool PrefixFile::take_blocks(const KeptPrefix& prefix, std::int64_t n_tokens,
                             std::vector<std::vector<std::int32_t>>& blocks) {
    KvCache& cache = model_->kv();
    blocks.resize(cache.n_groups());
    for (std::size_t g = 0; g < cache.n_groups(); ++g) {
        KvPool& pool = cache.pool(g);
        const std::size_t n = pool.keeps_all() ? as_size(kv_blocks_for(n_tokens)) : prefix.groups[g].blocks.size();
        while (blocks[g].size() < n) {
            if (pool.n_free() > 0) {
                blocks[g].push_back(pool.take());
            } else if (!cache.give_up(KvCache::GiveUp::kEnds) && !cache.give_up(KvCache::GiveUp::kWhole) &&
                       !(pool.is_state() && pool.add_block())) {
                return false;
            }
        }
    }
    return true;
}

bool PrefixFile::read(const std::string& name, const KeptPrefix& prefix, std::span<const TokenId> prompt,
                      std::int64_t n_at_least, KvSequence& sequence, PromptReading& reading,
                      const std::stop_token& stop) {
    KvCache& cache = model_->kv();
    const std::int64_t n_common = common_tokens(prefix, prompt);
    const std::int64_t n_tokens = cache.keeps_all() ? n_common : std::ssize(prefix.written);
    if (n_tokens > sequence.capacity()) return false;
    std::vector<std::vector<std::int32_t>> blocks;
    const bool has_room = take_blocks(prefix, n_tokens, blocks);
    std::vector<KvSequence::Table> now(blocks.size()), before(blocks.size());
    const auto in_pool = [&](std::size_t g, KvSequence::Table table) {
        if (cache.pool(g).keeps_all()) table.blocks.resize(blocks[g].size());
        for (std::int32_t& block : table.blocks) {
            block = blocks[g][as_size(block)];
            cache.pool(g).share(block);
        }
        return table;
    };
    for (std::size_t g = 0; g < blocks.size(); ++g) {
        if (has_room) {
            now[g] = in_pool(g, prefix.groups[g].now);
            if (!cache.pool(g).keeps_all()) before[g] = in_pool(g, prefix.groups[g].at_checkpoint);
        }
        for (const std::int32_t block : blocks[g]) cache.pool(g).drop(block);
    }
    if (!has_room) return false;
    std::vector<KvSequence::Checkpoint> checkpoints;
    if (prefix.checkpoint > 0) checkpoints.push_back({prefix.checkpoint, std::move(before)});
    std::vector<WrittenToken> written = prefix.written;
    const std::uint32_t first_step = last_step_;
    for (WrittenToken& one : written) {
        if (one.step == 0) continue;
        last_step_ = std::min(last_step_, first_step - one.step);
        one.step = first_step - one.step;
    }
    sequence.restore(std::move(now), std::move(checkpoints), std::move(written), prefix.cut_steps, n_tokens);

    const PromptReading::Span span(reading, n_tokens);
    std::ifstream file(blocks_file(name), std::ios::binary);
    std::size_t n_blocks = 0, n_done = 0;
    for (const auto& of_group : blocks) n_blocks += of_group.size();
    const auto tokens_before = [&](std::size_t n) {  // for progress: a block's share of them
        return static_cast<std::int64_t>(n) * n_tokens / static_cast<std::int64_t>(n_blocks);
    };
    bool done = sequence.reach(n_common) >= n_at_least;
    for (std::size_t g = 0; g < blocks.size(); ++g) {
        bytes_.resize(as_size(static_cast<std::int64_t>(block_bytes(g))));
        for (std::size_t i = 0; done && i < blocks[g].size(); ++i, ++n_done) {
            reading.begin_step(tokens_before(n_done + 1) - tokens_before(n_done));
            file.seekg(static_cast<std::streamoff>(place_of(prefix, g, i)));
            file.read(reinterpret_cast<char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
            if (!file || fingerprint_of(bytes_, model_->pool()) != prefix.groups[g].blocks[i]) {
                remove_damaged(name, blocks_file(name));
                done = false;
            } else {
                done = !stop.stop_requested() && cache.pool(g).upload(blocks[g][i], bytes_.data());
            }
        }
    }
    if (!done) {
        sequence.clear();
        return false;
    }
    std::error_code ignored;
    fs::last_write_time(end_file(name), fs::file_time_type::clock::now(), ignored);
    return true;
}

// NAME.kv stays, empty: the conversation is written again.
void PrefixFile::remove_damaged(const std::string& name, const std::string& where) {
    std::error_code ignored;
    fs::remove(end_file(name), ignored);
    fs::resize_file(blocks_file(name), 0, ignored);
    problem_ = messages::kept_conversation_damaged(where);
}

// ---------------------------------------------------------------- writing

std::string PrefixFile::prepare(const std::string& name) {
    errno = 0;
    if (!std::ofstream(blocks_file(name), std::ios::app)) return std::generic_category().message(errno);
    only_for_owner(blocks_file(name));
    return {};
}

void PrefixFile::begin_write(const std::string& name, std::uint64_t most_bytes, const KvSequence& sequence) {
    keep_complete();
    if (!is_known_ || sequence.size() == 0) return;
    std::error_code missing;
    if (!fs::exists(blocks_file(name), missing)) return;
    Writing writing{name, most_bytes, sequence.copy(), {}, {}, 0, {}, identity()};
    writing.sequence.set_idle(true);
    KeptPrefix& prefix = writing.prefix;
    prefix.written = numbered_steps(sequence.written());
    prefix.cut_steps.assign(sequence.cut_steps().begin(), sequence.cut_steps().end());
    const auto checkpoints = writing.sequence.checkpoints();
    if (!checkpoints.empty()) prefix.checkpoint = checkpoints.back().size;
    const std::optional<KeptPrefix> there = load(name);
    const std::size_t n_same = there ? common_bits(*there, prefix) : 0;
    if (there && n_same == prefix.written.size() && n_same == there->written.size() &&
        there->checkpoint == prefix.checkpoint) {
        return;
    }
    prefix.groups.resize(model_->kv().n_groups());
    for (std::size_t g = 0; g < prefix.groups.size(); ++g) {
        KeptPrefix::Group& group = prefix.groups[g];
        std::vector<std::int32_t> numbers;
        group.now = in_places(writing.sequence.table(g), numbers);
        if (!checkpoints.empty()) group.at_checkpoint = in_places(checkpoints.back().tables[g], numbers);
        group.blocks.resize(numbers.size());
        const std::size_t n_there = model_->kv().pool(g).keeps_all() ? n_same / as_size(kKvBlockTokens) : 0;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (i < n_there) {
                group.blocks[i] = there->groups[g].blocks[i];
            } else {
                writing.blocks.push_back({g, i, numbers[i]});
            }
        }
    }
    if (most_bytes > 0 && bytes_of(prefix) > most_bytes) return;
    const auto by_place = [&](const Block& a, const Block& b) {
        return place_of(prefix, a.group, a.place) < place_of(prefix, b.group, b.place);
    };
    std::sort(writing.blocks.begin(), writing.blocks.end(), by_place);
    writing.file.open(blocks_file(name), std::ios::in | std::ios::out | std::ios::binary);
    writing_ = std::move(writing);
}

bool PrefixFile::write_piece(std::uint64_t most_bytes) {
    if (!writing_) return false;
    Writing& writing = *writing_;
    errno = 0;
    for (std::uint64_t n_bytes = 0; writing.n_written < writing.blocks.size() && n_bytes < most_bytes;
         ++writing.n_written) {
        const Block& block = writing.blocks[writing.n_written];
        bytes_.resize(as_size(static_cast<std::int64_t>(block_bytes(block.group))));
        if (!model_->kv().pool(block.group).download(block.number, bytes_.data())) return !drop();
        writing.prefix.groups[block.group].blocks[block.place] = fingerprint_of(bytes_, model_->pool());
        writing.file.seekp(static_cast<std::streamoff>(place_of(writing.prefix, block.group, block.place)));
        writing.file.write(reinterpret_cast<const char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size()));
        n_bytes += bytes_.size();
    }
    writing.file.flush();
    if (!writing.file) {
        fail(blocks_file(writing.name), std::generic_category().message(errno));
        return false;
    }
    if (writing.n_written < writing.blocks.size()) return true;
    finish();
    return false;
}

// All blocks are written.
void PrefixFile::finish() {
    const Writing writing = std::move(*writing_);
    writing_.reset();
    const std::uint64_t bytes = bytes_of(writing.prefix);
    // Removed meanwhile, perhaps with an empty one in its place: the conversation is not
    // to be kept.
    std::error_code missing;
    if (const std::uint64_t size = fs::file_size(blocks_file(writing.name), missing); missing || size < bytes) return;
    fs::resize_file(blocks_file(writing.name), bytes, missing);
    const std::vector<std::uint64_t> words = words_of(writing.prefix, writing.identity);
    const std::string reason = write_file(
        end_file(writing.name), {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0])},
        {.make_folders = false});
    if (!reason.empty()) {
        fail(end_file(writing.name), reason);
    } else if (!fs::exists(blocks_file(writing.name), missing)) {
        fs::remove(end_file(writing.name), missing);  // the conversation was deleted meanwhile
    } else {
        only_for_owner(end_file(writing.name));
        if (writing.most_bytes > 0) trim(writing.name, writing.most_bytes);
    }
}

// Ends the writing. Blocks that NAME.end names may be overwritten by now: it is replaced
// by one of the complete blocks where all groups keep everything, and removed otherwise.
void PrefixFile::keep_complete() {
    if (!writing_ || writing_->n_written == 0) {
        writing_.reset();
        return;
    }
    Writing& writing = *writing_;
    const std::int64_t n_tokens = static_cast<std::int64_t>(writing.blocks[writing.n_written].place) * kKvBlockTokens;
    if (!model_->kv().keeps_all() || n_tokens == 0) {
        std::error_code ignored;
        fs::remove(end_file(writing.name), ignored);
        writing_.reset();
        return;
    }
    writing.sequence.set_idle(false);
    writing.sequence.truncate(n_tokens);
    writing.prefix.written = numbered_steps(writing.sequence.written());
    writing.prefix.cut_steps.assign(writing.sequence.cut_steps().begin(), writing.sequence.cut_steps().end());
    for (KeptPrefix::Group& group : writing.prefix.groups) {
        group.blocks.resize(as_size(kv_blocks_for(n_tokens)));
        group.now.blocks.resize(group.blocks.size());
    }
    finish();
}

bool PrefixFile::drop() {
    const bool any = writing_.has_value();
    if (any && writing_->n_written > 0) {
        std::error_code ignored;
        fs::remove(end_file(writing_->name), ignored);
    }
    writing_.reset();
    return any;
}

void PrefixFile::fail(const std::string& file, const std::string& reason) {
    const std::string name = fs::path(file).replace_extension().string();
    writing_.reset();
    remove_damaged(name, file);
    problem_ = messages::kept_conversation_not_written(file, reason);
}

void PrefixFile::close() {
    keep_complete();
    model_ = nullptr;
    is_known_ = false;
}

}  // namespace offstage::engine
