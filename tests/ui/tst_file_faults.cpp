// Every file that the two programs write, against a full disk, a read-only disk and
// folder, a folder that is removed, and SIGKILL, at every call that changes a file:
// afterwards there is the old file or the new one, never half of one, and unsaved data
// was reported.
//
// A row is a way to write. Its old state is made once and copied for every run; a run
// without a fault makes the new one.
#include <unistd.h>

#include <QDir>
#include <QDirIterator>
#include <QElapsedTimer>
#include <QJsonDocument>
#include <QRegularExpression>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

#include "engine/plan/cost_model.h"
#include "engine/plan/measurement_store.h"
#include "engine/plan/popularity.h"
#include "engine/plan/sensitivity.h"
#include "engine/quant/quant_cache.h"
#include "engine/telemetry/routing_trace.h"
#include "tests/ui/fault_runs.h"
#include "tests/ui/history_fixture.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine/kept_budget.h"
#include "ui/history/conversation_files.h"
#include "ui/panels/benchmark_export.h"
#include "ui/panels/log_panel.h"
#include "ui/panels/picture_dialog.h"
#include "ui/panels/profile_editor.h"
#include "ui/plot/stacked_bar.h"
#include "ui/settings/settings_format.h"
#include "ui/settings/settings_watch.h"
#include "ui/window/recent_models.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

constexpr int kAll = 1000;
constexpr std::size_t kAtOnce = 4;
// For a program that loads a model; its ways to write are tried at every call without it.
constexpr int kProgramCalls = 4;
constexpr int kHistoryCalls = 30;
const QByteArray kBefore = "what was there before";
const QString kModel = QStringLiteral("/a/model");

enum class State { Nothing, Old, New, Half };

struct Row {
    QString name;
    std::function<void(const QString& folder)> prepare = [](const QString&) {};
    FaultProcess::Write write;
    // For a folder; none: by `files`, compared with the two states byte by byte.
    std::function<State(const QString& folder)> look = {};
    // Files with the data, relative; none: all files of the new state.
    QStringList files = {};
    // Written through a file that stays open, so that bytes may go to a removed file.
    bool staysOpen = false;
    // With more calls some between the first and the last are left out.
    int mostCalls = kAll;
    QList<Fault> faults = {Fault::Killed, Fault::FullDisk, Fault::ReadOnlyDisk, Fault::ReadOnlyFolder,
                           Fault::LostFolder};
    // QSettings waits forever for its own lock file that it could not remove.
    int lastForReadOnlyFolder = kAll;
};

QString at(const QString& folder, const char* name) {
    return folder + u'/' + QLatin1String(name);
}

void put(const QString& path, const QByteArray& bytes) {
    QDir().mkpath(QFileInfo(path).path());
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) {
        qFatal("the test cannot write %s", qPrintable(path));
    }
}

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

QStringList filesOf(const QString& folder) {
    QStringList names;
    QDirIterator all(folder, QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
    while (all.hasNext()) {
        names << QDir(folder).relativeFilePath(all.next());
    }
    names.sort();
    return names;
}

void copyFolder(const QString& from, const QString& to) {
    QDir().mkpath(to);
    for (const QString& name : filesOf(from)) {
        QDir().mkpath(QFileInfo(to + u'/' + name).path());
        if (!QFile::copy(from + u'/' + name, to + u'/' + name)) {
            qFatal("the test cannot copy %s", qPrintable(name));
        }
    }
}

// As if the folder had not been used for an hour.
void makeOld(const QString& folder) {
    for (const QString& name : filesOf(folder)) {
        QFile file(folder + u'/' + name);
        if (file.open(QIODevice::ReadWrite)) {
            file.setFileTime(QDateTime::currentDateTime().addSecs(-3600), QFileDevice::FileModificationTime);
        }
    }
}

// ---------------------------------------------------------------- ways to write

// A sentence that is empty where all went well.
int outcome(const QString& problem) {
    if (!problem.isEmpty()) {
        say(problem);
    }
    return 0;
}

int outcome(const std::string& problem) {
    return outcome(QString::fromStdString(problem));
}

QList<StoredConversation> someConversations() {
    StoredConversation one;
    one.info.title = QStringLiteral("A title");
    one.info.createdMs = one.info.changedMs = 1'700'000'000'000;
    one.messages = {prompt(QStringLiteral("A prompt")), answer(QStringLiteral("An answer. ").repeated(50), 1)};
    one.messages[0].id = 1;
    one.messages[1].id = one.info.activeLeaf = 2;
    return {one};
}

BenchmarkReport someBenchmark() {
    BenchmarkReport report;
    report.programVersion = QStringLiteral("1");
    report.answers.resize(3);
    return report;
}

int writeHistory(const QString& folder) {
    History history;
    const bool isOpen = history.open(folder);
    if (!isOpen) {
        say(history.notices().isEmpty() ? history.trouble() : history.notices().last().sentence);
        say(QStringLiteral("not opened"));
    }
    const ConversationId id = history.create({}, {});
    const MessageId asked = history.add(id, prompt(QStringLiteral("the second prompt")));
    history.add(id, answer(QStringLiteral("the second answer ").repeated(400), asked));
    if (history.saveNow() && isOpen) {
        claimSaved();
    } else {
        say(QStringLiteral("not saved: ") + history.trouble());
    }
    if (!history.close()) {
        say(QStringLiteral("not closed"));
    }
    return 0;
}

// Every message is whole, and is there only with those that were saved before it.
State lookAtHistory(const QString& folder, bool hadOne) {
    hadOne = hadOne && !QFile::exists(folder + QStringLiteral(".lost"));  // else the first one lies there
    const QString file = at(folder, "conversations.sqlite");
    if (!QFile::exists(file)) {
        return State::Nothing;
    }
    Sql sql(file);
    if (sql(QStringLiteral("PRAGMA integrity_check")).toString() != QStringLiteral("ok")) {
        return State::Half;
    }
    if (sql(QStringLiteral("SELECT count(*) FROM sqlite_master WHERE name = 'messages'")).toInt() == 0) {
        return hadOne ? State::Half : State::Nothing;
    }
    const auto count = [&sql](const QString& text) {
        QSqlQuery query(sql.database());
        query.prepare(QStringLiteral("SELECT count(*) FROM messages WHERE text = ?"));
        query.addBindValue(text);
        return query.exec() && query.next() ? query.value(0).toInt() : -1;
    };
    const int first = count(QStringLiteral("the first prompt"));
    const int second = count(QStringLiteral("the second prompt"));
    const int answered = count(QStringLiteral("the second answer ").repeated(400));
    const int all = sql(QStringLiteral("SELECT count(*) FROM messages")).toInt();
    if (first != (hadOne ? 1 : 0) || second > 1 || answered > second || all != first + second + answered) {
        return State::Half;
    }
    return answered == 1 ? State::New : State::Old;
}

// One change of the settings, by the code of the window that makes it.
int changeSettings(const QString& folder, const std::function<void()>& change) {
    QSettings::setDefaultFormat(settingsFormat());
    QSettings::setPath(settingsFormat(), QSettings::UserScope, folder);
    SettingsWatch watch;
    QObject::connect(&watch, &SettingsWatch::troubled, [](const QString& sentence) { say(sentence); });
    change();
    watch.save();
    return 0;
}

void keepBudget(quint64 vramBytes) {
    engine::ReplanRequest change;
    change.vram_bytes = vramBytes;
    change.context = 1024;
    KeptBudget::keep(kModel, QStringLiteral("cpu"), change);
}

engine::CostTable costs(double us) {
    engine::CostTable table;
    table.weight_type = "BF16";
    table.hidden_dim = table.ffn_dim = 64;
    table.expert_bytes = 3 * 64 * 64 * 2;
    table.cpu_expert = {{1, us}, {2, us + 1}};
    return table;
}

engine::Sensitivity sensitivity(double error) {
    engine::Sensitivity s;
    s.n_layers = s.n_experts = 1;
    s.source = "by hand";
    s.formats = {{kernels::WeightType::kHqq4, {error}}};
    return s;
}

int keepBlock(const QString& folder, std::uint64_t source) {
    const engine::QuantKey key{{source, source}, kernels::WeightType::kHqq4, 48, 192};
    const std::vector<std::byte> block(key.block_bytes(), static_cast<std::byte>(source));
    kernels::ThreadPool pool(1);
    engine::QuantCache cache(folder.toStdString());
    cache.store(key, block, {1, 2}, pool);
    return outcome(cache.take_problem().english());
}

int writeTrace(const QString& path, std::int64_t n_tokens) {
    engine::TraceWriter writer(path.toStdString(), {"m", 1, 2, 1, {}, 0});
    for (std::int64_t i = 0; i < n_tokens; ++i) {
        writer.add_step(std::vector<std::int32_t>{1}, 1, i, engine::TokenKind::kDecode);
    }
    writer.finish();
    return 0;
}

int savePlot(const std::function<bool(StackedBar&)>& save) {
    StackedBar plot;
    return outcome(save(plot) ? QString() : plot.notice());
}

FaultProcess::Write cli(const QStringList& arguments, const QString& cache = {}) {
    return [arguments, cache](const QString& folder) {
        std::vector<QByteArray> words = {QByteArray(OFFSTAGE_BIN_DIR "/offstage-cli")};
        for (QString each : arguments) {
            words.push_back(QFile::encodeName(each.replace(QStringLiteral("FOLDER"), folder)));
        }
        std::vector<char*> pointers;
        for (QByteArray& word : words) {
            pointers.push_back(word.data());
        }
        pointers.push_back(nullptr);
        qputenv("XDG_CACHE_HOME", QFile::encodeName(cache.isEmpty() ? folder : cache));
        execv(pointers.front(), pointers.data());
        return 98;
    };
}

State lookAtLog(const QString& folder) {
    const QByteArray bytes = bytesOf(at(folder, "log.json"));
    if (!QFile::exists(at(folder, "log.json")) || bytes == kBefore) {
        return bytes.isEmpty() ? State::Nothing : State::Old;
    }
    return QJsonDocument::fromJson(bytes).isEmpty() ? State::Half : State::New;
}

// Measured times differ from run to run.
State lookAtCalibrations(const QString& folder, int wanted) {
    const QStringList files = filesOf(folder).filter(QRegularExpression(QStringLiteral("\\.json$")));
    for (const QString& name : files) {
        if (QJsonDocument::fromJson(bytesOf(folder + u'/' + name)).isEmpty()) {
            return State::Half;
        }
    }
    return files.isEmpty() ? State::Nothing : files.size() < wanted ? State::Old : State::New;
}

}  // namespace

class TestFileFaults : public QObject {
    Q_OBJECT

  public:
    explicit TestFileFaults(bool faults) : m_faults(faults) {}

  private Q_SLOTS:
    void initTestCase() {
        if (!m_faults) {
            QSKIP("the library that makes faults cannot be loaded into a program with sanitizers");
        }
        QVERIFY(m_base.isValid());
        m_base.setAutoRemove(!qEnvironmentVariableIsSet("OFFSTAGE_FAULTS_KEEP"));
        put(path("text.txt"), "Hello there, how are you?\n");
        addWindowRows();
        addEngineRows();
        addProgramRows();
    }

    void everyWrite_leavesTheOldOrTheNew_andSaysWhatFailed_data() {
        QTest::addColumn<int>("row");
        for (std::size_t i = 0; i < m_rows.size(); ++i) {
            QTest::newRow(qPrintable(m_rows[i].name)) << static_cast<int>(i);
        }
    }
    void everyWrite_leavesTheOldOrTheNew_andSaysWhatFailed() {
        QFETCH(const int, row);
        Row& r = m_rows[static_cast<std::size_t>(row)];
        const QString old = path("row%1-old").arg(row);
        QDir().mkpath(old);
        r.prepare(old);
        const QString fresh = path("row%1-new").arg(row);
        copyFolder(old, fresh);
        FaultProcess without(Fault::None, 0, fresh, r.write);
        const FaultRun reference = without.wait();
        QVERIFY2(reference.status == 0, qPrintable(reference.description()));
        QElapsedTimer time;
        time.start();
        QVERIFY(!reference.log.isEmpty());
        if (!r.look) {
            if (r.files.isEmpty()) {
                r.files = filesOf(fresh);
            }
            r.look = [old, fresh, files = r.files](const QString& folder) {
                return compare(files, folder, old, fresh);
            };
        }
        const State before = r.look(old);
        QVERIFY(before == State::Old || before == State::Nothing);
        QCOMPARE(r.look(fresh), State::New);

        const auto n_calls = static_cast<int>(reference.log.size());
        int n_runs = 0;
        for (const Fault fault : std::as_const(r.faults)) {
            std::vector<int> calls = callsToTry(n_calls, r.mostCalls);
            if (fault == Fault::ReadOnlyFolder) {
                calls.erase(std::remove_if(calls.begin(), calls.end(),
                                           [&r](int call) { return call > r.lastForReadOnlyFolder; }),
                            calls.end());
            }
            for (bool reached = true; reached && !calls.empty();) {  // until a run has no fault
                std::vector<std::unique_ptr<FaultProcess>> runs;
                while (runs.size() < kAtOnce && !calls.empty()) {
                    const QString folder = path("row%1-run%2").arg(row).arg(++n_runs);
                    copyFolder(old, folder);
                    runs.push_back(std::make_unique<FaultProcess>(fault, calls.front(), folder, r.write));
                    calls.erase(calls.begin());
                }
                for (auto& run : runs) {
                    check(r, run->wait(), before, reference.said, filesOf(old) + filesOf(fresh));
                    if (QTest::currentTestFailed()) {
                        return;
                    }
                    reached = run->wait().wentWrong;
                }
                if (calls.empty() && !(fault == Fault::ReadOnlyFolder && n_calls > r.lastForReadOnlyFolder)) {
                    calls = {runs.back()->wait().at + 1};
                }
            }
        }
        qInfo("%d calls, %d runs, %lld ms", n_calls, n_runs, time.elapsed());
    }

  private:
    QString path(const char* name) const { return m_base.filePath(QLatin1String(name)); }

    // All calls and one more; of very many the first and the last, and some between.
    static std::vector<int> callsToTry(int n_calls, int most) {
        const int step = std::max(1, (n_calls + most - 1) / most);
        std::vector<int> calls;
        for (int call = 1; call <= n_calls + 1; ++call) {
            if (call <= most / 3 || call > n_calls - most / 3 || call % step == 0) {
                calls.push_back(call);
            }
        }
        return calls;
    }

    static State compare(const QStringList& files, const QString& folder, const QString& old, const QString& fresh) {
        bool isNew = true;
        bool isThere = false;
        for (const QString& name : files) {
            const QString file = folder + u'/' + name;
            const bool exists = QFile::exists(file);
            const QByteArray bytes = bytesOf(file);
            const bool likeOld = exists == QFile::exists(old + u'/' + name) && bytes == bytesOf(old + u'/' + name);
            const bool likeNew = exists && bytes == bytesOf(fresh + u'/' + name);
            if (!likeOld && !likeNew && exists) {
                return State::Half;
            }
            isThere = isThere || exists;
            isNew = isNew && likeNew;
        }
        // Several files: each is the old one or the new one.
        return isNew ? State::New : isThere ? State::Old : State::Nothing;
    }

    static void check(const Row& row, const FaultRun& run, State before, const QByteArray& usual,
                      const QStringList& known) {
        const QByteArray what = run.description().toUtf8();
        QVERIFY2(run.status >= 0 || (run.wasKilled && run.fault == Fault::Killed), what);
        const State here = row.look(run.folder);
        QVERIFY2(here != State::Half, what);
        State now = here;
        if (run.fault == Fault::LostFolder && QFile::exists(run.lostName())) {
            const State lost = row.look(run.lostName());
            QVERIFY2(lost != State::Half, what);
            const bool wasSaved = row.staysOpen ? run.claimedBeforeFault() : lost == State::New;
            now = here == State::New || wasSaved ? State::New : before;
        } else {
            QVERIFY2(now == State::New || now == before || (before == State::Nothing && now == State::Old), what);
        }
        if (run.fault == Fault::Killed && run.wentWrong) {
            QVERIFY2(run.wasKilled, what);
            QVERIFY2(!run.claimed() || now == State::New, what);
            // Leftovers of a killed program must not stop a later one. (QLockFile waits
            // for half a minute if a lock is young and has no owner in it.)
            makeOld(run.folder);
            FaultProcess again(Fault::None, 0, run.folder, row.write);
            QVERIFY2(isSilent(again.wait(), usual), what + again.wait().description().toUtf8());
            if (!row.staysOpen) {
                QVERIFY2(row.look(run.folder) == State::New, what);
            }
            return;
        }
        QVERIFY2(now == State::New || !isSilent(run, usual), what);
        if (run.fault == Fault::FullDisk && !row.files.isEmpty()) {  // no room for unneeded files
            for (const QString& name : filesOf(run.folder)) {
                QVERIFY2(known.contains(name) || QFileInfo(name).fileName().endsWith(QStringLiteral(".lock")),
                         what + " left " + name.toUtf8());
            }
        }
    }

    // Nothing was printed beyond the output of a run without a fault, or of one on a
    // computer that is busy with other work.
    static bool isSilent(const FaultRun& run, const QByteArray& usual) {
        const QList<QByteArray> known = usual.split('\n');
        for (const QByteArray& line : run.said.split('\n')) {
            const bool ofCosts =
                line.startsWith("note: A cost kept of this computer") || line.startsWith("note: A token took ");
            if (!ofCosts && !known.contains(line)) {
                return false;
            }
        }
        return run.status == 0;
    }

    void add(const Row& row) { m_rows.push_back(row); }

    // A file that is written whole.
    void addFile(const char* name, const char* file, const FaultProcess::Write& write) {
        for (const bool existed : {false, true}) {
            const auto prepare = [existed, file](const QString& folder) {
                put(at(folder, "unrelated"), "x");
                if (existed) {
                    put(at(folder, file), kBefore);
                }
            };
            add({.name = QLatin1String(name) + (existed ? QStringLiteral(", over another") : QString()),
                 .prepare = prepare,
                 .write = write,
                 .files = {QLatin1String(file)}});
        }
    }

    void addWindowRows() {
        const QStringList settings = {QStringLiteral("OffstageTests/offstage-ui-tests.json")};
        add({.name = QStringLiteral("settings, the first"),
             .write = [](const QString& folder) { return changeSettings(folder, [] { RecentModels().add(kModel); }); },
             .files = settings,
             .lastForReadOnlyFolder = 2});
        add({.name = QStringLiteral("settings, a kept budget"),
             .prepare = [](const QString& folder) { changeSettings(folder, [] { keepBudget(1); }); },
             .write = [](const QString& folder) { return changeSettings(folder, [] { keepBudget(2); }); },
             .files = settings,
             .lastForReadOnlyFolder = 1});
        add({.name = QStringLiteral("history, the first conversation"),
             .write = writeHistory,
             .look = [](const QString& folder) { return lookAtHistory(folder, false); },
             .staysOpen = true,
             .mostCalls = kHistoryCalls});
        add({.name = QStringLiteral("history, another conversation"),
             .prepare =
                 [](const QString& folder) {
                     History history;
                     QVERIFY(history.open(folder));
                     history.add(history.create({}, {}), prompt(QStringLiteral("the first prompt")));
                     QVERIFY(history.flush() && history.close());
                 },
             .write = writeHistory,
             .look = [](const QString& folder) { return lookAtHistory(folder, true); },
             .staysOpen = true,
             .mostCalls = kHistoryCalls});
        addFile("conversation as JSON", "talk.json", [](const QString& folder) {
            return outcome(writeFile(at(folder, "talk.json"), conversationsToJson(someConversations())));
        });
        addFile("conversation as Markdown", "talk.md", [](const QString& folder) {
            return outcome(writeFile(at(folder, "talk.md"), conversationToMarkdown(someConversations()[0]).toUtf8()));
        });
        addFile("benchmark results", "bench.csv", [](const QString& folder) {
            QString why;
            saveBenchmark(someBenchmark(), at(folder, "bench.csv"), &why);
            return outcome(why);
        });
        addFile("pictures of plots", "experts.png", [](const QString& folder) {
            StackedBar plot;
            QString why;
            savePlots({{&plot, QStringLiteral("experts")}}, QStringLiteral("a model"), folder, &why);
            return outcome(why);
        });
        addFile("log", "log.json", [](const QString& folder) {
            EventLog log;
            log.append(LogKind::Note, QStringLiteral("A note"));
            QString why;
            LogPanel(log).save(at(folder, "log.json"), &why);
            return outcome(why);
        });
        for (Row& row : m_rows) {  // the time is part of it
            if (row.files == QStringList(QStringLiteral("log.json"))) {
                row.look = lookAtLog;
            }
        }
        addFile("plot as a picture", "plot.png", [](const QString& folder) {
            return savePlot([&](StackedBar& plot) { return plot.savePicture(at(folder, "plot.png")); });
        });
        addFile("plot's numbers", "plot.csv", [](const QString& folder) {
            return savePlot([&](StackedBar& plot) { return plot.saveCsv(at(folder, "plot.csv")); });
        });
        add({.name = QStringLiteral("hardware profile"),
             .prepare = [](const QString& folder) { put(at(folder, "unrelated"), "x"); },
             .write =
                 [](const QString& folder) {
                     qputenv("XDG_DATA_HOME", QFile::encodeName(folder));
                     QStandardPaths::setTestModeEnabled(false);
                     ProfileEditor editor(engine::find_hardware_profile("rtx-4090"));
                     editor.name().setText(QStringLiteral("mine"));
                     editor.save();
                     return outcome(editor.problem());
                 },
             .files = {QStringLiteral("OffstageTests/offstage-ui-tests/hardware/mine.json")}});
    }

    void addEngineRows() {
        const auto calibrate = [](double us) {
            return [us](const QString& folder) {
                const engine::MeasurementStore cache(folder.toStdString());
                cache.store("a", costs(us));
                return outcome(cache.problem().english());
            };
        };
        const auto keepSensitivity = [](double error) {
            return [error](const QString& folder) {
                const engine::MeasurementStore store(folder.toStdString(), "sensitivity");
                return outcome(store.store("a", sensitivity(error)));
            };
        };
        add({.name = QStringLiteral("calibration"), .write = calibrate(1)});
        add({.name = QStringLiteral("calibration, over another"), .prepare = calibrate(1), .write = calibrate(2)});
        add({.name = QStringLiteral("sensitivity"), .write = keepSensitivity(1)});
        add({.name = QStringLiteral("sensitivity, over another"),
             .prepare = keepSensitivity(1),
             .write = keepSensitivity(0.5)});
        addFile("popularity", "p.json", [](const QString& folder) {
            engine::write_popularity(engine::Popularity::uniform(2, 4, 2), "m", at(folder, "p.json").toStdString());
            return 0;
        });
        add({.name = QStringLiteral("quantized expert"),
             .prepare = [](const QString& folder) { keepBlock(folder, 1); },
             .write = [](const QString& folder) { return keepBlock(folder, 2); }});
        add({.name = QStringLiteral("routing trace"),
             .prepare = [](const QString& folder) { writeTrace(at(folder, "trace"), 10); },
             .write = [](const QString& folder) { return writeTrace(at(folder, "trace"), 5000); }});
    }

    // The command line itself: its exit status, and its standard error.
    void addProgramRows() {
        const QList<Fault> faults = {Fault::Killed, Fault::FullDisk, Fault::LostFolder};
        const QString cache = path("cache");
        const auto words = [this](const char* line) {
            QString all = QLatin1String(line) + QStringLiteral(" --model SOURCE/resources/demo-model");
            all.replace(QStringLiteral("SOURCE"), QStringLiteral(OFFSTAGE_SOURCE_DIR));
            return all.replace(QStringLiteral("TEXT"), path("text.txt")).split(u' ');
        };
        const auto addOutput = [&](const char* name, const char* line) {
            add({.name = QLatin1String(name),
                 .prepare = [](const QString& folder) { put(at(folder, "out"), kBefore); },
                 .write = cli(words(line), cache),
                 .files = {QStringLiteral("out")},
                 .mostCalls = kProgramCalls,
                 .faults = faults});
        };
        addOutput("offstage-cli profile --out", "profile --text TEXT --out FOLDER/out");
        addOutput("offstage-cli recall --out", "recall --text TEXT --out FOLDER/out");
        addOutput("offstage-cli recall --trace-out", "recall --text TEXT --trace-out FOLDER/out");
        addOutput("offstage-cli generate --trace",
                  "generate --prompt Hi --max-tokens 3 --temperature 0 --trace FOLDER/out");
        const auto addCache = [&](const char* name, const char* line, int n_calibrations) {
            add({.name = QLatin1String(name),
                 .write = cli(words(line)),
                 .look = [n_calibrations](const QString& f) { return lookAtCalibrations(f, n_calibrations); },
                 .mostCalls = kProgramCalls,
                 .faults = faults});
        };
        addCache("offstage-cli calibrate", "calibrate --device emulated:SOURCE/resources/hardware/rtx-3060.json", 1);
        addCache("offstage-cli generate, calibrations",
                 "generate --prompt Hi --max-tokens 1 --device emulated:SOURCE/resources/hardware/rtx-3060.json", 2);
        add({.name = QStringLiteral("offstage-cli generate --quant"),
             .write = cli(words("generate --prompt Hi --max-tokens 1 --compute f32 --quant experts=hqq4")),
             .mostCalls = kProgramCalls,
             .faults = faults});
    }

    const bool m_faults;
    QTemporaryDir m_base;
    std::vector<Row> m_rows;
};

int main(int argc, char** argv) {
    const bool faults = startWithFaults(argv);
    return runHeadless(argc, argv, [faults](int n, char** v) {
        TestFileFaults test(faults);
        return QTest::qExec(&test, n, v);
    });
}
#include "tst_file_faults.moc"
