#include "app/cli/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

namespace offstage::cli {
namespace {

// A signal, such as Ctrl+C's, may end a write early: that is no failure of the output.
void retry_or_throw() {
    if (errno != EINTR) throw OutputFailed(errno);
    std::clearerr(stdout);
}

}  // namespace

OutputFailed::OutputFailed(int error)
    : std::runtime_error(std::string("Standard output cannot be written: ") + std::strerror(error)), error_(error) {}

bool OutputFailed::pipe_closed() const {
    return error_ == EPIPE;
}

StandardOutput::StandardOutput() : original_(std::cout.rdbuf(this)) {
    std::cout.exceptions(std::ios::badbit);  // std::cout passes on the exceptions of the functions below
}

StandardOutput::~StandardOutput() {
    std::cout.exceptions(std::ios::goodbit);
    std::cout.rdbuf(original_);
}

void StandardOutput::finish() {
    errno = 0;
    const bool failed_before = std::ferror(stdout) != 0;
    // A failed write is tried again here: unwritten data is still in the buffer.
    if (std::fflush(stdout) != 0 || failed_before) throw OutputFailed(errno != 0 ? errno : EIO);
}

StandardOutput::int_type StandardOutput::overflow(int_type c) {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char text = traits_type::to_char_type(c);
    xsputn(&text, 1);
    return c;
}

std::streamsize StandardOutput::xsputn(const char* text, std::streamsize n) {
    auto left = static_cast<std::size_t>(n);
    while (left > 0) {
        const std::size_t written = std::fwrite(text, 1, left, stdout);
        text += written;
        left -= written;
        if (left > 0) retry_or_throw();
    }
    return n;
}

int StandardOutput::sync() {
    while (std::fflush(stdout) != 0) retry_or_throw();
    return 0;
}

}  // namespace offstage::cli
