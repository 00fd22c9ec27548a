#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <QTemporaryDir>

#include "engine/error.h"
#include "engine/text/tokenizer.h"

namespace offstage::test {

// A folder with tokenizer files of the test's own.
class TokenizerFolder {
  public:
    explicit TokenizerFolder(std::int64_t vocab_size) : vocab_size_(vocab_size) {}

    void write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path() / name, std::ios::binary) << bytes;
    }
    std::filesystem::path path() const { return dir_.path().toStdString(); }
    std::unique_ptr<engine::Tokenizer> open() const { return open(vocab_size_); }
    std::unique_ptr<engine::Tokenizer> open(std::int64_t vocab_size) const {
        return engine::Tokenizer::open(path(), vocab_size);
    }
    // The error of opening; "no error" if there is none.
    engine::Error error() const { return error(vocab_size_); }
    engine::Error error(std::int64_t vocab_size) const {
        try {
            open(vocab_size);
        } catch (const engine::Error& e) {
            return e;
        }
        return {engine::ErrorKind::kInternal, engine::from_outside("no error")};
    }

  private:
    QTemporaryDir dir_;
    std::int64_t vocab_size_;
};

}  // namespace offstage::test
