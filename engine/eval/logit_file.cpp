#include "engine/eval/logit_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/chunk_perplexity.h"
#include "engine/eval/eval_messages.h"
#include "engine/files/text_file.h"

namespace offstage::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is written and read as it lies in memory");

constexpr std::string_view kLogitMagic = "_logits_";
constexpr std::size_t kLogitHeaderBytes = 20;
constexpr float kLogitRange = 16.0f;
constexpr std::int32_t kLargestLogitSize = 1 << 24;  // of a chunk, of a vocabulary

std::string_view bytes_of_ints(std::span<const std::int32_t> values) {
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

void encode_logit_row(std::span<const float> logits, std::span<std::uint16_t> words) {
    const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
    const float largest = *high;
    const float smallest = std::max(*low, largest - kLogitRange);
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - static_cast<double>(largest));
    const auto log_sum = static_cast<float>(std::log(sum));
    const std::array<float, 2> head = {(largest - smallest) / 65535.0f, smallest - largest - log_sum};
    std::memcpy(words.data(), head.data(), sizeof(head));
    std::fill(words.begin() + 4, words.end(), std::uint16_t{0});
    if (!(head[0] > 0)) return;
    const float inverse = 1.0f / head[0];
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (!(logits[i] > smallest)) continue;
        // To nearest, of two equally near the even one, as the processor rounds.
        words[4 + i] =
            static_cast<std::uint16_t>(std::clamp(std::nearbyint(inverse * (logits[i] - smallest)), 0.0f, 65535.0f));
    }
}

LogitRow decode_logit_row(std::span<const std::uint16_t> words, std::int64_t vocab_size) {
    std::array<float, 2> head{};
    std::memcpy(head.data(), words.data(), sizeof(head));
    return {head[0], head[1], words.subspan(4, as_size(vocab_size))};
}

LogitFileWriter::LogitFileWriter(const std::filesystem::path& path, const LogitFileHeader& header)
    : path_(shown_path(path)), vocab_size_(header.vocab_size), words_(header.row_words()), file_(path) {
    const std::array<std::int32_t, 3> sizes = {static_cast<std::int32_t>(header.n_context),
                                               static_cast<std::int32_t>(header.vocab_size),
                                               static_cast<std::int32_t>(header.n_chunks())};
    file_.write(kLogitMagic);
    file_.write(bytes_of_ints(sizes));
    file_.write(bytes_of_ints(header.tokens));
    if (!file_.failure().empty()) fail(file_.failure());
}

void LogitFileWriter::add(std::span<const float> logits) {
    for (std::size_t at = 0; at < logits.size(); at += as_size(vocab_size_)) {
        encode_logit_row(logits.subspan(at, as_size(vocab_size_)), words_);
        file_.write({reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(std::uint16_t)});
    }
    if (!file_.failure().empty()) fail(file_.failure());
}

void LogitFileWriter::commit() {
    const std::string reason = file_.commit();
    if (!reason.empty()) fail(reason);
}

void LogitFileWriter::fail(const std::string& reason) const {
    throw Error(ErrorKind::kInvalidInput, messages::logit_file_not_written(path_, reason));
}

LogitFile::LogitFile(std::span<const std::byte> bytes, const std::string& source) : source_(source) {
    const auto refuse = [&](Message what) {
        throw Error(ErrorKind::kInvalidModel, messages::logit_file_rejected(source, std::move(what)));
    };
    if (bytes.size() < kLogitHeaderBytes || std::memcmp(bytes.data(), kLogitMagic.data(), kLogitMagic.size()) != 0) {
        refuse(messages::no_logit_file);
    }
    std::array<std::int32_t, 3> sizes{};
    std::memcpy(sizes.data(), bytes.data() + kLogitMagic.size(), sizeof(sizes));
    const auto [n_context, vocab_size, n_chunks] = sizes;
    if (n_context < 4 || n_context > kLargestLogitSize) {
        refuse(messages::logit_context_invalid(n_context));
    }
    if (vocab_size < 2 || vocab_size > kLargestLogitSize) {
        refuse(messages::logit_vocab_invalid(vocab_size));
    }
    if (n_chunks < 1) refuse(messages::logit_chunks_invalid(n_chunks));
    header_.n_context = n_context;
    header_.vocab_size = vocab_size;
    // Divisions, since the product of the three sizes may be larger than 64 bits.
    const std::uint64_t token_bytes = std::uint64_t{4} * as_size(n_context);
    const std::uint64_t row_bytes = as_size(scored_rows(n_context)) * header_.row_words() * sizeof(std::uint16_t);
    const std::uint64_t left = bytes.size() - kLogitHeaderBytes;
    const std::uint64_t chunk_bytes = token_bytes + row_bytes;
    if (left % chunk_bytes != 0 || left / chunk_bytes != as_size(n_chunks)) {
        refuse(messages::logit_file_cut(bytes.size(), n_chunks, chunk_bytes));
    }
    const std::uint64_t all_token_bytes = token_bytes * as_size(n_chunks);
    header_.tokens.resize(as_size(n_context) * as_size(n_chunks));
    std::memcpy(header_.tokens.data(), bytes.data() + kLogitHeaderBytes, all_token_bytes);
    for (std::size_t i = 0; i < header_.tokens.size(); ++i) {
        const TokenId token = header_.tokens[i];
        if (token < 0 || token >= vocab_size) {
            refuse(messages::logit_token_invalid(token, i, vocab_size - 1));
        }
    }
    rows_ = bytes.subspan(kLogitHeaderBytes + all_token_bytes);
}

std::span<const std::byte> LogitFile::row_bytes(std::int64_t chunk) const {
    const std::size_t n = as_size(scored_rows(header_.n_context)) * header_.row_words() * sizeof(std::uint16_t);
    return rows_.subspan(as_size(chunk) * n, n);
}

std::vector<std::uint16_t> LogitFile::rows(std::int64_t chunk) const {
    const std::span<const std::byte> bytes = row_bytes(chunk);
    std::vector<std::uint16_t> words(bytes.size() / sizeof(std::uint16_t));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    for (std::size_t at = 0; at < words.size(); at += header_.row_words()) {
        const LogitRow row = decode_logit_row(std::span(words).subspan(at, header_.row_words()), header_.vocab_size);
        if (!std::isfinite(row.scale) || !std::isfinite(row.minimum) || row.scale < 0) {
            throw Error(ErrorKind::kInvalidModel,
                        messages::logit_row_not_finite(source_, chunk + 1, at / header_.row_words() + 1));
        }
    }
    return words;
}

}  // namespace offstage::engine
