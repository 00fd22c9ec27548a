#include "app/cli/message_input.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <histedit.h>
#include <iostream>
#include <langinfo.h>
#include <poll.h>
#include <string_view>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <utility>

#include "app/cli/interrupt.h"
#include "engine/text/utf8.h"

namespace offstage::cli {
namespace {

class PipedLines final : public MessageInput {
  public:
    std::optional<std::string> next() override {
        std::cout << "\n> " << std::flush;
        while (true) {
            const std::size_t end = buffer_.find('\n');
            if (end != std::string::npos) {
                std::string line = buffer_.substr(0, end);
                if (line.ends_with('\r')) line.pop_back();
                buffer_.erase(0, end + 1);
                return line;
            }
            std::array<char, 4096> chunk{};
            const ssize_t n = read(STDIN_FILENO, chunk.data(), chunk.size());
            if (n < 0 && errno == EINTR && !is_interrupted()) continue;
            if (n > 0) {
                buffer_.append(chunk.data(), static_cast<std::size_t>(n));
                continue;
            }
            if (n < 0 || buffer_.empty()) return std::nullopt;
            return std::exchange(buffer_, {});
        }
    }

  private:
    std::string buffer_;
};

// Set if, while a message is typed, the window's size changes or the program continues
// after Ctrl+Z.
std::atomic<bool> terminal_changed = false;

void on_terminal_change(int) {
    terminal_changed = true;
}

// While it exists these signals end a read(). At other times they would end a write.
class TerminalSignals {
  public:
    TerminalSignals() {
        struct sigaction action {};
        action.sa_handler = on_terminal_change;
        action.sa_flags = static_cast<int>(SA_ONSTACK);  // as interrupt.cpp has it
        sigaction(SIGWINCH, &action, &resized_);
        sigaction(SIGCONT, &action, &continued_);
    }
    ~TerminalSignals() {
        sigaction(SIGWINCH, &resized_, nullptr);
        sigaction(SIGCONT, &continued_, nullptr);
    }
    TerminalSignals(const TerminalSignals&) = delete;
    TerminalSignals& operator=(const TerminalSignals&) = delete;

  private:
    struct sigaction resized_ {};
    struct sigaction continued_ {};
};

constexpr wchar_t kLineBreak =
    0x1c;  // a line's end among lines that come together; no key gives it, as it is a signal's
constexpr std::wstring_view kPasteEnd = L"\x1b[201~";
constexpr wchar_t kEndOfText = 0x04;  // Ctrl+D
constexpr int kLookMs = 200;
constexpr int kTogetherMs = 30;  // between the pieces of pasted text on a terminal without bracketed paste

// libedit does not support bracketed paste: its beginning, ESC [ 200 ~, is bound as a key
// here, whose function reads up to ESC [ 201 ~. Terminals without it (a console, "dumb")
// send pasted lines like typed ones: a line end with more input right after it is part of
// the message.
class TerminalLines final : public MessageInput {
  public:
    TerminalLines() {
        std::setlocale(LC_CTYPE, "");  // for libedit's encoding, and the widths of characters
        if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
        tcgetattr(STDIN_FILENO, &before_);
        // If standard output is a file, the editing of input must not go there.
        FILE* const screen = isatty(STDOUT_FILENO) != 0 ? stdout : stderr;
        history_ = history_winit();
        HistEventW event{};
        history_w(history_, &event, H_SETSIZE, 1000);
        line_ = el_init("offstage-cli", stdin, screen, stderr);
        el_wset(line_, EL_CLIENTDATA, this);
        el_wset(line_, EL_PROMPT, prompt);
        el_wset(line_, EL_EDITOR, L"emacs");
        el_wset(line_, EL_HIST, history_w, history_);
        el_wset(line_, EL_GETCFN, read_key);
        el_wset(line_, EL_ADDFN, L"paste", L"inserts what is pasted", paste);
        el_wset(line_, EL_ADDFN, L"line-break", L"inserts a line break", line_break);
        el_wset(line_, EL_BIND, L"\\e[200~", L"paste", nullptr);
        el_wset(line_, EL_BIND, L"^\\", L"line-break", nullptr);
        el_wset(line_, EL_BIND, L"\\e[3~", L"ed-delete-next-char", nullptr);
        // The end of a pasted line may be two characters, which must not become one
        // twice.
        el_wset(line_, EL_SETTY, L"-d", L"-icrnl", L"-inlcr", nullptr);
        el_source(line_, nullptr);  // ~/.editrc
        const char* const terminal = std::getenv("TERM");
        brackets_ = terminal != nullptr && std::strcmp(terminal, "dumb") != 0;
        if (brackets_) send("\x1b[?2004h");
        take_keys();
    }
    ~TerminalLines() override {
        el_end(line_);
        history_wend(history_);
        if (brackets_) send("\x1b[?2004l");
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }
    TerminalLines(const TerminalLines&) = delete;
    TerminalLines& operator=(const TerminalLines&) = delete;

    std::optional<std::string> next() override {
        std::cout << std::endl;
        // Lines that were typed ahead are separate messages.
        int waiting = 0;
        ioctl(STDIN_FILENO, FIONREAD, &waiting);
        n_ahead_ = static_cast<std::size_t>(std::max(waiting, 0)) + bytes_.size();
        const TerminalSignals signals;
        el_resize(line_);
        int n = 0;
        const wchar_t* const typed = el_wgets(line_, &n);
        // Ctrl+C may have ended one of libedit's writes; a failure that lasts shows
        // again.
        if (is_interrupted()) std::clearerr(stdout);
        take_keys();
        if (typed == nullptr || n <= 0) return std::nullopt;
        std::wstring_view text(typed, static_cast<std::size_t>(n));
        text = text.substr(0, text.find_last_not_of(L'\n') + 1);
        std::string message;
        for (const wchar_t c : text) engine::append_utf8(static_cast<std::uint32_t>(c), message);
        if (message.find_first_not_of(" \t\n") != std::string::npos) {
            HistEventW event{};
            history_w(history_, &event, H_ENTER, std::wstring(text).c_str());
        }
        return message;
    }

  private:
    static TerminalLines& of(EditLine* line) {
        void* self = nullptr;
        el_wget(line, EL_CLIENTDATA, &self);
        return *static_cast<TerminalLines*>(self);
    }
    static wchar_t* prompt(EditLine*) {
        static std::array<wchar_t, 3> text = {L'>', L' ', 0};
        return text.data();
    }

    // Without echo and without a limit for a line's length. libedit does so only once it
    // has written the prompt.
    void take_keys() const {
        termios quiet = before_;
        quiet.c_iflag &= ~static_cast<tcflag_t>(ICRNL);
        quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        quiet.c_cc[VMIN] = 1;
        quiet.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet);
    }

    static void send(std::string_view control) {
        std::cout << std::flush;
        if (write(STDIN_FILENO, control.data(), control.size()) < 0) return;  // the terminal, as it is for input
    }

    static int read_key(EditLine* line, wchar_t* key) {
        TerminalLines& self = of(line);
        const int n = self.read_character(*key);
        if (n <= 0) return n;
        if (*key == L'\r') {
            *key = L'\n';
            if (self.bytes_.starts_with('\n')) {  // one end of a line
                self.bytes_.erase(0, 1);
                self.n_ahead_ -= std::min<std::size_t>(self.n_ahead_, 1);
            }
        }
        if (*key == L'\n' && self.n_ahead_ == 0 && self.has_more()) *key = kLineBreak;
        return n;
    }

    static unsigned char line_break(EditLine* line, int) {
        return el_winsertstr(line, L"\n") == 0 ? CC_REFRESH : CC_ERROR;
    }

    static unsigned char paste(EditLine* line, int) {
        TerminalLines& self = of(line);
        std::wstring raw;
        wchar_t c = 0;
        while (!raw.ends_with(kPasteEnd)) {
            // Ctrl+D alone, not a part of what is pasted: its end never came.
            if (self.read_character(c) <= 0 || (c == kEndOfText && !self.has_more())) return CC_EOF;
            raw += c;
        }
        raw.resize(raw.size() - kPasteEnd.size());
        std::wstring text;
        for (std::size_t i = 0; i < raw.size(); ++i) {
            if (raw[i] == L'\r') {
                if (i + 1 == raw.size() || raw[i + 1] != L'\n') text += L'\n';
            } else if (raw[i] == L'\n' || raw[i] == L'\t' || (raw[i] >= L' ' && raw[i] != 0x7f)) {
                text += raw[i];
            }
        }
        return el_winsertstr(line, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    }

    bool has_more() const {
        pollfd input{STDIN_FILENO, POLLIN, 0};
        return !bytes_.empty() || poll(&input, 1, kTogetherMs) > 0;
    }

    // 1; 0: the terminal is gone, -1: Ctrl+C. Bytes that are no UTF-8 become U+FFFD.
    int read_character(wchar_t& character) {
        while (true) {
            const std::size_t whole = bytes_.empty() ? 0 : wanted_bytes(bytes_.front());
            std::size_t n = std::min<std::size_t>(bytes_.size(), 1);
            while (n < whole && n < bytes_.size() && (bytes_[n] & 0xc0) == 0x80) ++n;
            if (n > 0 && (n == whole || n < bytes_.size())) {
                std::size_t at = 0;
                const bool valid = n == whole && engine::find_invalid_utf8(std::string_view(bytes_).substr(0, n)) ==
                                                     std::string_view::npos;
                character = valid ? static_cast<wchar_t>(engine::next_character(bytes_, at)) : wchar_t{0xfffd};
                bytes_.erase(0, n);
                n_ahead_ -= std::min(n_ahead_, n);
                return 1;
            }
            // A signal may come before the waiting begins: none is looked for later than
            // this.
            pollfd input{STDIN_FILENO, POLLIN, 0};
            const bool is_ready = poll(&input, 1, kLookMs) > 0;
            if (is_interrupted()) return -1;
            if (terminal_changed.exchange(false)) {
                el_wset(line_, EL_PREP_TERM, 1);
                el_resize(line_);
                el_wset(line_, EL_REFRESH);
            }
            if (!is_ready) continue;
            std::array<char, 4096> chunk{};
            const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return got == 0 ? 0 : -1;
            bytes_.append(chunk.data(), static_cast<std::size_t>(got));
        }
    }
    // The length of the character that this byte begins.
    static std::size_t wanted_bytes(char first) {
        const auto byte = static_cast<unsigned char>(first);
        return byte < 0xc0 || byte >= 0xf8 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    }

    termios before_{};
    HistoryW* history_ = nullptr;
    EditLine* line_ = nullptr;
    bool brackets_ = false;
    std::string bytes_;        // read, and not yet returned
    std::size_t n_ahead_ = 0;  // bytes to come that were there before the prompt
};

}  // namespace

std::unique_ptr<MessageInput> open_message_input() {
    if (isatty(STDIN_FILENO) != 0) return std::make_unique<TerminalLines>();
    return std::make_unique<PipedLines>();
}

}  // namespace offstage::cli
