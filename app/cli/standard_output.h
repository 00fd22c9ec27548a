#pragma once

#include <stdexcept>
#include <streambuf>

namespace offstage::cli {

// What is written to standard output could not be: the disk is full, or nobody reads the pipe.
class OutputFailed : public std::runtime_error {
  public:
    explicit OutputFailed(int error);

    // Nobody reads any more, as after `offstage-cli ... | head -1`: no reason to complain.
    bool pipe_closed() const;

  private:
    int error_;  // errno
};

// While it lives, std::cout throws OutputFailed from the operation that could not write. Commands write to std::cout or
// with std::printf, as they like; both end in stdout's buffer. One object, in main().
class StandardOutput : private std::streambuf {
  public:
    StandardOutput();
    ~StandardOutput() override;
    StandardOutput(const StandardOutput&) = delete;
    StandardOutput& operator=(const StandardOutput&) = delete;

    // Writes what still waits in the buffer. Throws OutputFailed, also for a std::printf that failed earlier.
    static void finish();

  private:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize n) override;
    int sync() override;

    std::streambuf* original_;
};

}  // namespace offstage::cli
