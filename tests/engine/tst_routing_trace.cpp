// The trace file: writing, reading, and refusals.

#include <QDirIterator>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/telemetry/routing_trace.h"
#include "tests/engine/errors.h"
#include "tests/fuzz/trace_files.h"

using namespace offstage::engine;
using namespace offstage::tests;

namespace {

const std::string kHeader =
    "{\"format\":\"offstage-trace\",\"version\":1,\"model\":\"m\",\"n_layers\":2,\"n_experts\":4,\"n_active\":2";

std::string token(const std::string& experts, const std::string& more = {}) {
    return "{\"step\":3,\"position\":7,\"kind\":\"decode\",\"experts\":" + experts + more + "}\n";
}

}  // namespace

class TestRoutingTrace : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void trace_isReadAsItWasWritten_data() {
        QTest::addColumn<bool>("guesses");
        QTest::newRow("experts") << false;
        QTest::newRow("experts and guesses") << true;
    }
    void trace_isReadAsItWasWritten() {
        QFETCH(bool, guesses);
        QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath(QStringLiteral("a.jsonl")).toStdString();
        TraceHeader header{"a \"quoted\" name", 3, 5, 2, {}, 0};
        if (guesses) {
            header.distances = {1, 2};
            header.n_guesses = 1;
        }
        const std::vector<std::int32_t> prompt = {0, 1, 2, 3, 4, 0, 1, 0, 3, 2, 0, 4};
        const std::vector<std::int32_t> answer = {4, 3, 2, 1, 0, 1};
        const std::vector<std::int32_t> beams = {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3};
        const std::vector<std::int32_t> guess = {-1, 4, 0, -1, -1, 2};
        std::vector<std::int32_t> two_guesses = guess;
        two_guesses.insert(two_guesses.end(), guess.begin(), guess.end());
        const auto only = [&](const std::vector<std::int32_t>& ids) {
            return guesses ? std::span<const std::int32_t>(ids) : std::span<const std::int32_t>();
        };
        {
            TraceWriter writer(file, header);
            writer.add_step(prompt, 2, 0, TokenKind::kPrompt, only(two_guesses));
            writer.add_step(answer, 1, 2, TokenKind::kDecode, only(guess));
            const std::vector<std::int64_t> positions = {3, 3};
            writer.add_step(beams, positions, TokenKind::kDecode, only(two_guesses));
            QCOMPARE(writer.n_tokens(), 5);
            writer.finish();
        }
        const RoutingTrace trace = read_trace(file);
        QCOMPARE(trace.header.model, header.model);
        QCOMPARE(trace.header.n_layers, 3);
        QCOMPARE(trace.header.n_experts, 5);
        QCOMPARE(trace.header.n_active, 2);
        QCOMPARE(trace.header.distances, header.distances);
        QCOMPARE(trace.header.n_guesses, header.n_guesses);
        std::vector<std::int32_t> experts = prompt;
        experts.insert(experts.end(), answer.begin(), answer.end());
        experts.insert(experts.end(), beams.begin(), beams.end());
        QCOMPARE(trace.experts, experts);
        QCOMPARE(trace.guesses.size(), guesses ? 5 * guess.size() : 0);
        if (guesses) QVERIFY(std::equal(guess.begin(), guess.end(), trace.guesses.begin() + 12));
        const std::vector<std::int64_t> steps = {0, 0, 1, 2, 2}, positions = {0, 1, 2, 3, 3};
        QCOMPARE(trace.tokens.size(), std::size_t{5});
        for (std::size_t i = 0; i < 5; ++i) {
            QCOMPARE(trace.tokens[i].step, steps[i]);
            QCOMPARE(trace.tokens[i].position, positions[i]);
            QCOMPARE(trace.tokens[i].kind, i < 2 ? TokenKind::kPrompt : TokenKind::kDecode);
        }
    }

    void damage_isNamed_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const std::string& text, const char* says) {
            QTest::newRow(name) << QByteArray::fromStdString(text) << QString::fromLatin1(says);
        };
        const std::string header = kHeader + "}\n";
        row("nothing", "", "empty");
        row("another format", "{\"format\":\"offstage-popularity\",\"version\":1}", "line 1: \"format\"");
        row("a later version", "{\"format\":\"offstage-trace\",\"version\":2}", "\"version\"");
        row("more active than experts",
            "{\"format\":\"offstage-trace\",\"version\":1,\"model\":\"m\",\"n_layers\":2,\"n_experts\":4,\"n_active\":"
            "5}",
            "\"n_active\"");
        row("too many ids",
            "{\"format\":\"offstage-trace\",\"version\":1,\"model\":\"m\",\"n_layers\":512,\"n_experts\":2048,"
            "\"n_active\":1024}",
            "524288 ids");
        row("a distance beyond the layers", kHeader + ",\"distances\":[2],\"n_guesses\":1}", "\"distances\"");
        row("distances that do not ascend", kHeader + ",\"distances\":[1,1],\"n_guesses\":1}", "\"distances\"");
        row("no number of guesses", kHeader + ",\"distances\":[1]}", "\"n_guesses\"");
        row("cut in the middle", header + "{\"step\":3,\"position\":7,\"kin", "line 2");
        row("an expert too high", header + token("[0,1,2,4]"), "line 2: \"experts\"[3] is 4");
        row("a negative expert", header + token("[0,-1,2,3]"), "\"experts\"[1] is -1");
        row("a fraction", header + token("[0,1.5,2,3]"), "\"experts\"[1] is 1.5");
        row("a number beyond 64 bits", header + token("[0,1,2,18446744073709551616]"), "\"experts\"[3]");
        row("an expert twice", header + token("[0,0,2,3]"), "again");
        row("too few experts", header + token("[0,1,2]"), "a list of 4");
        row("steps that go back",
            header + token("[0,1,2,3]") + "{\"step\":2,\"position\":0,\"kind\":\"decode\",\"experts\":[0,1,2,3]}",
            "line 3: \"step\"");
        row("a kind of its own", header + "{\"step\":0,\"position\":0,\"kind\":\"draft\",\"experts\":[0,1,2,3]}",
            "\"kind\"");
        row("guesses that were not announced", header + token("[0,1,2,3]", ",\"guesses\":[0]"), "\"guesses\"");
        row("guesses missing", kHeader + ",\"distances\":[1],\"n_guesses\":1}" + "\n" + token("[0,1,2,3]"),
            "\"guesses\"");
        row("a guess too low",
            kHeader + ",\"distances\":[1],\"n_guesses\":1}" + "\n" + token("[0,1,2,3]", ",\"guesses\":[-2,0]"),
            "\"guesses\"[0] is -2");
        row("an empty line", header + "\n" + token("[0,1,2,3]"), "line 2");
    }
    void damage_isNamed() {
        QFETCH(QByteArray, text);
        QFETCH(QString, says);
        try {
            parse_trace(text.toStdString(), "some.trace");
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kInvalidModel);
            const QString sentence = QString::fromUtf8(error.what());
            QVERIFY2(sentence.startsWith(QStringLiteral("some.trace")), error.what());
            QVERIFY2(sentence.contains(says), error.what());
        }
    }

    void missingFile_isNamed() {
        QCOMPARE(mismatch(error_of([&] { read_trace("/no/such/trace"); }), ErrorKind::kNotFound, "/no/such/trace"),
                 QString());
    }

    void fileThatCannotBeWritten_isTold() {
        const TraceHeader header{"m", 1, 2, 1, {}, 0};
        QCOMPARE(
            mismatch(error_of([&] { TraceWriter writer("/no/such/folder/trace", header); }), ErrorKind::kInvalidInput),
            QString());
        if (!QFile::exists(QStringLiteral("/dev/full"))) QSKIP("no /dev/full on this system");
        TraceWriter writer("/dev/full", header);
        const std::vector<std::int32_t> experts = {1};
        for (int i = 0; i < 10000; ++i) writer.add_step(experts, 1, i, TokenKind::kDecode);
        QCOMPARE(mismatch(error_of([&] { writer.finish(); }), ErrorKind::kInvalidInput, "/dev/full"), QString());
    }

    void storedInputs_keepThePromises() {
        QDirIterator files(QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/routing_trace"), QDir::Files);
        int n = 0;
        while (files.hasNext()) {
            QFile file(files.next());
            QVERIFY(file.open(QIODevice::ReadOnly));
            const std::string broken = offstage::tests::check_trace(file.readAll().toStdString());
            QVERIFY2(broken.empty(), qPrintable(file.fileName() + QString::fromStdString(": " + broken)));
            ++n;
        }
        QVERIFY(n >= 4);
    }
};

QTEST_GUILESS_MAIN(TestRoutingTrace)
#include "tst_routing_trace.moc"
