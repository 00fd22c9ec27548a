// The cost of a crash: the age of the oldest text that is lost when a program is ended
// (SIGKILL) while it streams, over many such ends at random moments. The manual promises
// a second at most. A power cut costs no more: committed text is on the disk
// (synchronous=FULL).
//
//   bench_history_crash [--kills N] [--at-once N]      50 of them, one after the other
//
// Exit status 1 if text was lost that was reported as saved.
#include <algorithm>
#include <cstdio>

#include <QCoreApplication>

#include "tests/ui/history_crash.h"

using offstage::test::CrashResult;

namespace {

double share(const std::vector<double>& sorted, double at) {
    return sorted[static_cast<std::size_t>(at * static_cast<double>(sorted.size() - 1))];
}

int option(const QStringList& arguments, const QString& name, int otherwise) {
    const qsizetype at = arguments.indexOf(name);
    return at < 0 ? otherwise : std::max(1, arguments.value(at + 1).toInt());
}

}  // namespace

int main(int argc, char** argv) {
    if (const std::optional<int> status = offstage::test::crashChild(argc, argv)) {
        return *status;
    }
    const QCoreApplication app(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    const int kills = option(arguments, QStringLiteral("--kills"), 50);
    const int atOnce = option(arguments, QStringLiteral("--at-once"), 1);
    std::vector<double> oldest;
    int kept = 0, faults = 0;
    std::size_t lost = 0;
    for (int done = 0; done < kills; done += atOnce) {
        for (const CrashResult& crash : offstage::test::crashWhileStreaming(std::min(atOnce, kills - done))) {
            if (!crash.fault.isEmpty()) {
                ++faults;
                std::printf("  %s\n", qPrintable(crash.fault));
            }
            oldest.push_back(crash.oldestLostMs());
            kept += crash.nKept;
            lost += crash.lostMs.size();
        }
    }
    std::sort(oldest.begin(), oldest.end());
    const auto late = std::count_if(oldest.begin(), oldest.end(), [](double ms) { return ms >= 1000; });
    std::printf("%d kills, %d at once: %d pieces kept, %zu lost; said to be saved, and not there: %d\n", kills, atOnce,
                kept, lost, faults);
    std::printf("age of the oldest piece lost: median %.0f ms, 90 %% %.0f ms, longest %.0f ms; a second or more: %td\n",
                share(oldest, 0.5), share(oldest, 0.9), oldest.back(), late);
    return faults > 0 ? 1 : 0;
}
