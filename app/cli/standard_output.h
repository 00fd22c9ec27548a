#pragma once

#include <stdexcept>
#include <streambuf>

namespace offstage::cli {

// Writing to standard output failed: the disk is full, or the pipe has no reader.
class OutputFailed : public std::runtime_error {
  public:
    explicit OutputFailed(int error);

    // The reader has ended, as after `offstage-cli ... | head -1`: this is no error.
    bool pipe_closed() const;

  private:
    int error_;  // errno
};

// While it exists, std::cout throws OutputFailed from the failing operation. Commands may
// write to std::cout or with std::printf; both use stdout's buffer. One object, in
// main().
class StandardOutput : private std::streambuf {
  public:
    StandardOutput();
    ~StandardOutput() override;
    StandardOutput(const StandardOutput&) = delete;
    StandardOutput& operator=(const StandardOutput&) = delete;

    // Writes the rest of the buffer. Throws OutputFailed, also for a std::printf that
    // failed earlier.
    static void finish();

  private:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize n) override;
    int sync() override;

    std::streambuf* original_;
};

}  // namespace offstage::cli
