#pragma once
// A program that is ended while it writes its history, for a test and a bench. The
// program is the caller's own, started again with arguments that its main() passes to
// crashChild().

#include <optional>
#include <vector>

#include <QString>

namespace offstage::test {

// Runs a child and returns its exit status; none: these are not a child's arguments.
std::optional<int> crashChild(int argc, char** argv);

struct CrashResult {
    QString fault;               // text reported as saved that is missing or incomplete; empty: none
    int nKept = 0;               // pieces of text found again
    std::vector<double> lostMs;  // the age of each lost piece when the program was ended
    double oldestLostMs() const;
};

// Lets `nAtOnce` children stream text, a piece each millisecond, ends each one (SIGKILL)
// at a moment between 1.1 and 2 seconds after its first word, and checks the saved text.
std::vector<CrashResult> crashWhileStreaming(int nAtOnce);

// A child that ends itself at its n-th report of a commit, on the thread and in the call
// of the report. Returns the error of the file; empty: all reported data is there.
QString crashAtReport(int n);

}  // namespace offstage::test
