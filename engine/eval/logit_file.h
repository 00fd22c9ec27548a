#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/files/file_writer.h"
#include "engine/indices.h"

namespace offstage::engine {

// A model's log probabilities for a text, in the format that llama.cpp's perplexity tool
// writes to compare others with (--kl-divergence-base). Little endian:
//   0        "_logits_"
//   8        int32 n_ctx, n_vocab, n_chunk
//   20       int32 tokens[n_chunk * n_ctx]
//   then for each chunk scored_rows(n_ctx) rows (chunk_perplexity.h) of
//   2 * ((n_vocab + 1) / 2) + 4 uint16: float32 scale, float32 minimum, n_vocab codes,
//   and
//   a zero where n_vocab is odd. ln p = scale * code + minimum; values more than 16 below
//   the largest are raised to that.
struct LogitFileHeader {
    std::int64_t n_context = 0;
    std::int64_t vocab_size = 0;
    std::vector<TokenId> tokens;  // whole chunks, as they stand in the text (without BOS put in)

    std::int64_t n_chunks() const { return static_cast<std::int64_t>(tokens.size()) / n_context; }
    std::size_t row_words() const { return static_cast<std::size_t>(2 * ((vocab_size + 1) / 2) + 4); }
};

// One row: logits (n_vocab) as words (row_words()).
void encode_logit_row(std::span<const float> logits, std::span<std::uint16_t> words);
struct LogitRow {
    float scale = 0, minimum = 0;
    std::span<const std::uint16_t> codes;  // (n_vocab)
    float log_probability(std::size_t token) const { return scale * static_cast<float>(codes[token]) + minimum; }
};
LogitRow decode_logit_row(std::span<const std::uint16_t> words, std::int64_t vocab_size);

// Writes the file; without commit() no file remains. Throws Error (kInvalidInput) if it
// cannot be written.
class LogitFileWriter {
  public:
    LogitFileWriter(const std::filesystem::path& path, const LogitFileHeader& header);
    // Rows of logits, (n, n_vocab), in the order of the chunks.
    void add(std::span<const float> logits);
    void commit();

  private:
    [[noreturn]] void fail(const std::string& reason) const;

    std::string path_;
    std::int64_t vocab_size_;
    std::vector<std::uint16_t> words_;
    FileWriter file_;
};

// A file's bytes, which must outlive it, checked: sizes, and tokens within the
// vocabulary. Throws Error (kInvalidModel) with the source, the field, the actual and the
// expected value.
class LogitFile {
  public:
    LogitFile(std::span<const std::byte> bytes, const std::string& source);
    const LogitFileHeader& header() const { return header_; }
    // The words of a chunk's rows, copied. Throws Error (kInvalidModel) for a scale or a
    // minimum that is not finite.
    std::vector<std::uint16_t> rows(std::int64_t chunk) const;
    std::span<const std::byte> row_bytes(std::int64_t chunk) const;

  private:
    std::string source_;
    LogitFileHeader header_;
    std::span<const std::byte> rows_;
};

}  // namespace offstage::engine
