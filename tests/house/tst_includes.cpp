// Checks the plan of the house: which folder includes which, which library is used where,
// and the files at the top.
#include <filesystem>
#include <fstream>

#include <QProcess>
#include <QSet>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "tests/house/include_checker.h"

using namespace offstage::house;

class TestIncludes : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void this_tree_keepsThePlan();
    void invented_breachIsFound_data();
    void invented_breachIsFound();
    void invented_lawfulIncludePasses_data();
    void invented_lawfulIncludePasses();
    void scanner_findsWhatACompilerWouldMeet();
    void top_holdsOnlyWhatThePlanNames();
};

namespace {

// A tree with one file of one line, preceded by a comment line so that the line number
// can be wrong.
Report check_one(const QString& file, const QString& line, const QStringList& others = {}) {
    const QTemporaryDir directory;
    const std::filesystem::path root = directory.path().toStdString();
    const QStringList paths = others + QStringList(file);
    for (const QString& path : paths) {
        const std::filesystem::path whole = root / path.toStdString();
        std::filesystem::create_directories(whole.parent_path());
        std::ofstream(whole) << "// " << path.toStdString() << "\n" << (path == file ? line.toStdString() : "") << "\n";
    }
    return check_includes(root);
}

}  // namespace

void TestIncludes::this_tree_keepsThePlan() {
    const Report report = check_includes(OFFSTAGE_SOURCE_DIR);
    QVERIFY2(report.n_files > 20 && report.n_includes > 60, "the checker saw next to nothing");
    QStringList lines;
    for (const Breach& breach : report.breaches) lines << QString::fromStdString(describe(breach));
    QVERIFY2(lines.isEmpty(), qPrintable("\n" + lines.join("\n")));
}

void TestIncludes::invented_breachIsFound_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("line");
    QTest::newRow("kernels up to engine") << "kernels/a.cpp"
                                          << "#include \"engine/error.h\"";
    QTest::newRow("kernels up to ui") << "kernels/deep/down/a.h"
                                      << "#include \"ui/a.h\"";
    QTest::newRow("engine up to ui") << "engine/run/a.cpp"
                                     << "#include \"ui/chat/a.h\"";
    QTest::newRow("engine up to app, in brackets") << "engine/a.h"
                                                   << "#include <app/cli/a.h>";
    QTest::newRow("ui up to app") << "ui/a.cpp"
                                  << "#include \"app/a.h\"";
    QTest::newRow("app to tests") << "app/offstage.cpp"
                                  << "#include \"tests/ui/fake_session.h\"";
    QTest::newRow("spaces") << "kernels/a.cpp"
                            << "  #  include   \"engine/error.h\"";
    QTest::newRow("comment between") << "kernels/a.cpp"
                                     << "#include /* why */ \"engine/error.h\"";
    QTest::newRow("relative, upwards") << "kernels/a.cpp"
                                       << "#include \"../engine/error.h\"";
    QTest::newRow("macro") << "engine/a.cpp"
                           << "#include CONFIG_HEADER";
    QTest::newRow("ui to kernels") << "ui/a.cpp"
                                   << "#include \"kernels/types.h\"";
    QTest::newRow("ui to a tensor") << "ui/a.cpp"
                                    << "#include \"engine/model/checkpoint.h\"";
    QTest::newRow("ui to the forward pass") << "ui/panels/a.h"
                                            << "#include \"engine/run/forward.h\"";
    QTest::newRow("app to kernels") << "app/cli/a.cpp"
                                    << "#include \"kernels/types.h\"";
    QTest::newRow("device to model") << "engine/device/a.h"
                                     << "#include \"engine/model/model_spec.h\"";
    QTest::newRow("run to eval") << "engine/run/a.h"
                                 << "#include \"engine/eval/bench.h\"";
    QTest::newRow("text to model") << "engine/text/a.cpp"
                                   << "#include \"engine/model/model_spec.h\"";
    QTest::newRow("plan to text") << "engine/plan/a.cpp"
                                  << "#include \"engine/text/tokenizer.h\"";
    QTest::newRow("plan to cluster, which stands on it") << "engine/plan/a.cpp"
                                                         << "#include \"engine/cluster/network.h\"";
    QTest::newRow("a folder in a folder") << "engine/model/families/deep/a.cpp"
                                          << "#include \"engine/run/forward.h\"";
    QTest::newRow("engine's own files to a folder") << "engine/a.h"
                                                    << "#include \"engine/telemetry/snapshot.h\"";
    QTest::newRow("a folder without a row") << "engine/somewhere/a.h"
                                            << "#include \"engine/files/text_file.h\"";
    QTest::newRow("the engine's window side to the chat") << "ui/engine/a.h"
                                                          << "#include \"ui/chat/chat_controller.h\"";
    QTest::newRow("history to chat") << "ui/history/a.cpp"
                                     << "#include \"ui/chat/chat_controller.h\"";
    QTest::newRow("a panel to the window") << "ui/panels/a.cpp"
                                           << "#include \"ui/window/main_window.h\"";
    QTest::newRow("ui's own files") << "ui/window/a.cpp"
                                    << "#include \"ui/format.h\"";
    QTest::newRow("a folder of ui without a row") << "ui/somewhere/a.h"
                                                  << "#include \"ui/base/theme.h\"";
    QTest::newRow("engine to Qt") << "engine/a.cpp"
                                  << "#include <QString>";
    QTest::newRow("engine to Qt by module") << "engine/a.cpp"
                                            << "#include <QtCore/QString>";
    QTest::newRow("kernels to Qt's small headers") << "kernels/a.cpp"
                                                   << "#include <qglobal.h>";
    QTest::newRow("oneDNN beside gemm") << "kernels/cpu/a.cpp"
                                        << "#include <oneapi/dnnl/dnnl.hpp>";
    QTest::newRow("oneDNN in a header") << "kernels/gemm.h"
                                        << "#include <dnnl.hpp>";
    QTest::newRow("SIMD in the engine") << "engine/run/a.cpp"
                                        << "#include <immintrin.h>";
    QTest::newRow("NEON in the window") << "ui/a.cpp"
                                        << "#include <arm_neon.h>";
    QTest::newRow("CUDA in the engine") << "engine/device/a.cpp"
                                        << "#include <cuda_runtime.h>";
    QTest::newRow("CUDA beside kernels/cuda") << "kernels/cuda_devices.h"
                                              << "#include <cuda_runtime_api.h>";
    QTest::newRow("CUDA in an operation's header") << "kernels/ops/a.h"
                                                   << "#include <cuda_runtime.h>";
    QTest::newRow("cuBLAS") << "engine/a.cpp"
                            << "#include <cublas_v2.h>";
    QTest::newRow("QtCharts") << "ui/a.cpp"
                              << "#include <QtCharts/QChartView>";
    QTest::newRow("QtCharts by class") << "ui/a.cpp"
                                       << "#include <QChartView>";
    QTest::newRow("QCustomPlot") << "ui/a.cpp"
                                 << "#include \"third/qcustomplot.h\"";
    QTest::newRow("a network client") << "ui/a.cpp"
                                      << "#include <QNetworkAccessManager>";
    QTest::newRow("a socket") << "engine/a.cpp"
                              << "#include <sys/socket.h>";
    QTest::newRow("a socket beside the server") << "engine/serve/api_server.cpp"
                                                << "#include <sys/socket.h>";
    QTest::newRow("a socket in a test") << "tests/engine/tst_a.cpp"
                                        << "#include <netinet/in.h>";
    QTest::newRow("HTTP beside the server") << "engine/serve/api_server.cpp"
                                            << "#include <httplib.h>";
    QTest::newRow("HTTP in the window") << "ui/a.cpp"
                                        << "#include <httplib.h>";
    QTest::newRow("the window that listens") << "ui/a.cpp"
                                             << "#include \"engine/serve/api_server.h\"";
    QTest::newRow("another file of the server's window") << "ui/server/local_server_dialog.cpp"
                                                         << "#include \"engine/serve/api_server.h\"";
    QTest::newRow("the switch with sockets of its own") << "ui/server/local_server_switch.cpp"
                                                        << "#include <httplib.h>";
    QTest::newRow("another command that listens") << "app/cli/command_chat.cpp"
                                                  << "#include \"engine/serve/api_server.h\"";
    QTest::newRow("another command with sockets") << "app/cli/command_chat.cpp"
                                                  << "#include \"engine/serve/http_server.h\"";
    QTest::newRow("the hub's requests beside their file") << "engine/hub/hub_download.cpp"
                                                          << "#include <QNetworkReply>";
    QTest::newRow("a proxy elsewhere") << "app/a.cpp"
                                       << "#include <QNetworkProxy>";
    QTest::newRow("another command that gets models") << "app/cli/command_chat.cpp"
                                                      << "#include \"engine/hub/hub_download.h\"";
    QTest::newRow("the window that gets models by itself") << "ui/window/a.cpp"
                                                           << "#include \"engine/hub/hub_download.h\"";
    QTest::newRow("the engine that gets models") << "engine/run/a.cpp"
                                                 << "#include \"engine/hub/hub_download.h\"";
    QTest::newRow("gRPC beside the nodes") << "engine/cluster/node_client.cpp"
                                           << "#include <grpcpp/grpcpp.h>";
    QTest::newRow("keys beside the nodes") << "app/node/main.cpp"
                                           << "#include <openssl/evp.h>";
    QTest::newRow("the window that connects") << "ui/a.cpp"
                                              << "#include \"engine/nodes/node_channel.h\"";
    QTest::newRow("the window's model beside nodes") << "ui/a/a.cpp"
                                                     << "#include \"engine/cluster/joined_nodes.h\"";
    QTest::newRow("another command that connects") << "app/cli/command_generate.cpp"
                                                   << "#include \"engine/nodes/node_channel.h\"";
    QTest::newRow("the engine that connects") << "engine/cluster/a.cpp"
                                              << "#include \"engine/nodes/node_channel.h\"";
    QTest::newRow("the engine that listens") << "engine/run/a.cpp"
                                             << "#include \"engine/serve/api_server.h\"";
    QTest::newRow("a device file") << "kernels/cuda/a.cu"
                                   << "#include \"engine/error.h\"";
    QTest::newRow("a device header") << "kernels/cuda/a.cuh"
                                     << "#include \"engine/error.h\"";
}

void TestIncludes::invented_breachIsFound() {
    QFETCH(QString, file);
    QFETCH(QString, line);
    const Report report = check_one(file, line, {QStringLiteral("engine/error.h")});
    QCOMPARE(report.breaches.size(), std::size_t{1});
    QCOMPARE(QString::fromStdString(report.breaches[0].file), file);
    QCOMPARE(report.breaches[0].line, 2);
    QVERIFY(describe(report.breaches[0]).starts_with(file.toStdString() + ":2: "));
}

void TestIncludes::invented_lawfulIncludePasses_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("line");
    QTest::newRow("downwards") << "engine/a.cpp"
                               << "#include \"kernels/types.h\"";
    QTest::newRow("same floor") << "kernels/a.cpp"
                                << "#include \"kernels/types.h\"";
    QTest::newRow("down the engine's folders") << "engine/run/layers/a.cpp"
                                               << "#include \"engine/plan/planner.h\"";
    QTest::newRow("down ui's folders") << "ui/window/a.cpp"
                                       << "#include \"ui/panels/panel.h\"";
    QTest::newRow("same folder") << "engine/model/families/a.cpp"
                                 << "#include \"engine/model/model_spec.h\"";
    QTest::newRow("engine's own files from a folder") << "engine/files/a.cpp"
                                                      << "#include \"engine/error.h\"";
    QTest::newRow("standard library") << "kernels/a.cpp"
                                      << "#include <vector>";
    QTest::newRow("façade") << "ui/a.cpp"
                            << "#include \"engine/run/session.h\"";
    QTest::newRow("telemetry") << "ui/a.cpp"
                               << "#include \"engine/telemetry/snapshot.h\"";
    QTest::newRow("app to all below") << "app/a.cpp"
                                      << "#include \"engine/model/checkpoint.h\"";
    QTest::newRow("ui to Qt") << "ui/a.cpp"
                              << "#include <QPainter>";
    QTest::newRow("moc") << "ui/a.cpp"
                         << "#include \"a.moc\"";
    QTest::newRow("oneDNN at home") << "kernels/gemm.cpp"
                                    << "#include <oneapi/dnnl/dnnl.hpp>";
    QTest::newRow("SIMD at home") << "kernels/cpu/a_avx2.cpp"
                                  << "#include <immintrin.h>";
    QTest::newRow("CUDA at home") << "kernels/cuda/a.cu"
                                  << "#include <cuda_runtime.h>";
    QTest::newRow("CUDA of an operation") << "kernels/ops/a.cu"
                                          << "#include <cuda_runtime.h>";
    QTest::newRow("the server's sockets") << "engine/serve/http_server.cpp"
                                          << "#include <httplib.h>";
    QTest::newRow("the sockets that it accepted") << "engine/serve/http_socket.cpp"
                                                  << "#include <sys/socket.h>";
    QTest::newRow("the hub's requests") << "engine/hub/hub_connection.cpp"
                                        << "#include <QNetworkReply>";
    QTest::newRow("the command that gets models") << "app/cli/command_get.cpp"
                                                  << "#include \"engine/hub/hub_download.h\"";
    QTest::newRow("the command that listens") << "app/cli/command_serve.cpp"
                                              << "#include \"engine/serve/api_server.h\"";
    QTest::newRow("the window's switch") << "ui/server/local_server_switch.cpp"
                                         << "#include \"engine/serve/api_server.h\"";
    QTest::newRow("its options are checked") << "app/cli/main.cpp"
                                             << "#include \"engine/serve/access.h\"";
    QTest::newRow("gRPC at home") << "engine/nodes/a.cpp"
                                  << "#include <grpcpp/grpcpp.h>";
    QTest::newRow("gRPC for ThreadSanitizer") << "tests/tsan_grpc.cpp"
                                              << "#include <grpcpp/support/callback_common.h>";
    QTest::newRow("the helper program") << "app/node/main.cpp"
                                        << "#include \"engine/nodes/node_server.h\"";
    QTest::newRow("the command of machines") << "app/cli/nodes_paired.cpp"
                                             << "#include \"engine/nodes/pairing.h\"";
    QTest::newRow("the window program's machines") << "app/machine_network.cpp"
                                                   << "#include \"engine/nodes/paired_network.h\"";
    QTest::newRow("what the window knows of machines") << "ui/a/a.cpp"
                                                       << "#include \"engine/cluster/machine_network.h\"";
    QTest::newRow("a test's sockets") << "tests/engine/loopback_client.h"
                                      << "#include <sys/socket.h>";
    QTest::newRow("in a comment") << "kernels/a.cpp"
                                  << "/*\n#include \"engine/error.h\"\n*/ // #include \"ui/a.h\"";
    QTest::newRow("in a string") << "kernels/a.cpp"
                                 << "const char* s = R\"x(\n#include \"ui/a.h\"\n)x\";";
    QTest::newRow("a test") << "tests/ui/tst_a.cpp"
                            << "#include \"kernels/gemm.h\"";
    QTest::newRow("not a source") << "engine/notes.txt"
                                  << "#include \"ui/a.h\"";
}

void TestIncludes::invented_lawfulIncludePasses() {
    QFETCH(QString, file);
    QFETCH(QString, line);
    const Report report = check_one(file, line);
    QStringList lines;
    for (const Breach& breach : report.breaches) lines << QString::fromStdString(describe(breach));
    QCOMPARE(lines, QStringList());
}

void TestIncludes::scanner_findsWhatACompilerWouldMeet() {
    const auto found = includes_of(
        "#pragma once\n"
        "#include <a>  // <b>\n"
        "/* #include <c> */ #include <d>\n"
        "auto n = 1'000'000; char q = '\"'; auto s = \"\\\"#include <e>\";\n"
        "#include \\\n \"f\"\n"
        "auto r = R\"(\n#include <g>\n)\";\n"
        "  # include <h>\n"
        "x #include <i>\n"
        "#include");
    QStringList names;
    for (const Include& include : found) {
        names << QStringLiteral("%1:%2").arg(include.line).arg(QString::fromStdString(include.name));
    }
    const QStringList expected{QStringLiteral("2:a"), QStringLiteral("3:d"), QStringLiteral("5:f"),
                               QStringLiteral("10:h")};
    QCOMPARE(names, expected);
}

void TestIncludes::top_holdsOnlyWhatThePlanNames() {
    const QString git = QStandardPaths::findExecutable(QStringLiteral("git"));
    if (git.isEmpty()) QSKIP("git is not installed, and without it files of the tree and others cannot be told apart");
    QProcess list;
    list.start(git, {QStringLiteral("-c"), QStringLiteral("safe.directory=*"), QStringLiteral("-C"),
                     QStringLiteral(OFFSTAGE_SOURCE_DIR), QStringLiteral("ls-files"), QStringLiteral("-z")});
    QVERIFY(list.waitForFinished());
    const QList<QByteArray> files = list.readAllStandardOutput().split('\0');
    if (list.exitCode() != 0) QSKIP("this tree is not a git checkout");
    const QSet<QByteArray> allowed{"CMakeLists.txt", "CMakePresets.json", "LICENSE",   "README.md", "app", "engine",
                                   "installer",      "kernels",           "resources", "tests",     "ui"};
    QSet<QByteArray> others;
    int n_files = 0;
    for (const QByteArray& file : files) {
        const QByteArray top = file.split('/').first();
        n_files += top.isEmpty() ? 0 : 1;
        if (!top.isEmpty() && !top.startsWith('.') && !allowed.contains(top)) others << top;
    }
    QVERIFY(n_files > 20);
    QVERIFY2(others.isEmpty(), qPrintable(QString::fromUtf8(others.values().join(", "))));
}

QTEST_GUILESS_MAIN(TestIncludes)
#include "tst_includes.moc"
