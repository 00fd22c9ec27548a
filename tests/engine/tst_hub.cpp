// Getting models from a hub: names, choices, the layout in the cache, downloads that are
// cut off, lied to and stopped.
#include <fstream>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/hub/hub_download.h"
#include "engine/hub/hub_preview.h"
#include "engine/hub/partial_file.h"
#include "engine/model/model_finder.h"
#include "engine/run/fit_estimate.h"
#include "tests/engine/errors.h"
#include "tests/engine/gguf_writer.h"
#include "tests/engine/hub_server.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using offstage::test::HubAnswer;
using offstage::test::HubRequest;
using offstage::test::HubServer;
using offstage::tests::sentence_of;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRepository = "maker/Model-GGUF";
constexpr const char* kFile = "Model-Q4_K_M.gguf";
constexpr int kPart = 4096;

QByteArray random_bytes(int n, unsigned seed) {
    QByteArray bytes(n, Qt::Uninitialized);
    for (char& byte : bytes) {
        seed = seed * 1664525u + 1013904223u;
        byte = static_cast<char>(seed >> 24u);
    }
    return bytes;
}

QByteArray contents(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return QByteArray::fromStdString({std::istreambuf_iterator<char>(in), {}});
}

}  // namespace

class TestHub : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;
    std::unique_ptr<HubServer> m_hub;

    HubAccess access() const {
        HubAccess access;
        access.endpoint = m_hub->endpoint();
        access.patience = std::chrono::seconds(20);
        access.first_wait = std::chrono::milliseconds(1);
        access.repetitions = 3;
        return access;
    }
    HubDownload download(const std::string& type = "Q4_K_M") const {
        HubDownload wanted;
        wanted.access = access();
        HubConnection connection(wanted.access);
        wanted.repository = read_hub_repository(connection, kRepository, "main", {});
        wanted.model = choose_model(wanted.repository, {.type = type});
        wanted.cache = m_folder->filePath(QStringLiteral("cache")).toStdString();
        wanted.part_bytes = kPart;
        return wanted;
    }
    fs::path blob(const char* file, const char* suffix = "") const {
        return fs::path(m_folder->filePath(QStringLiteral("cache")).toStdString()) / "models--maker--Model-GGUF/blobs" /
               (offstage::test::hexSha256(m_hub->file(file)).toStdString() + suffix);
    }
    QString failure(const HubDownload& wanted) const {
        return sentence_of([&] { static_cast<void>(get_model(wanted, {})); });
    }

  private Q_SLOTS:
    void initTestCase() {
        for (const char* const name :
             {"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
              "NO_PROXY", "HF_ENDPOINT", "HF_TOKEN", "HF_TOKEN_PATH"}) {
            qunsetenv(name);
        }
        qputenv("HF_HOME", "/nowhere");  // a person may be logged in
    }
    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        m_hub = std::make_unique<HubServer>();
        m_hub->add(kFile, random_bytes(50'000, 1));
        m_hub->add("Model-Q8_0.gguf", random_bytes(90'000, 2));
        m_hub->add("UD/Model-UD-Q2_K_XL-00001-of-00002.gguf", random_bytes(20'000, 3));
        m_hub->add("UD/Model-UD-Q2_K_XL-00002-of-00002.gguf", random_bytes(10'000, 4));
        m_hub->add("mmproj-F16.gguf", "picture tower");
        m_hub->add("README.md", "about");
    }

    void names_areReadOrRefused() {
        QCOMPARE(parse_hub_name("a/b").repository, std::string("a/b"));
        QCOMPARE(parse_hub_name("unsloth/Qwen3-30B-A3B-GGUF:Q4_K_M").type, std::string("Q4_K_M"));
        QCOMPARE(parse_hub_name("qwen3-30b-a3b:Q8_0").repository, std::string("unsloth/Qwen3-30B-A3B-GGUF"));
        QCOMPARE(parse_hub_name("dbrx-instruct").repository, std::string("databricks/dbrx-instruct"));
        for (const char* const address :
             {"https://huggingface.co/maker/Model-GGUF", "hf.co/maker/Model-GGUF:Q8_0",
              "https://huggingface.co/maker/Model-GGUF/tree/main?show_file_info=x",
              "https://huggingface.co/maker/Model-GGUF/blob/refs%2Fpr%2F3/UD/Model-UD-Q2_K_XL-00001-of-00002.gguf"}) {
            QCOMPARE(parse_hub_name(address).repository, std::string("maker/Model-GGUF"));
        }
        QCOMPARE(parse_hub_name("hf.co/maker/Model-GGUF:Q8_0").type, std::string("Q8_0"));
        QCOMPARE(parse_hub_name("https://hf.co/maker/Model-GGUF/tree/v2/").revision, std::string("v2"));
        const HubName file =
            parse_hub_name("https://huggingface.co/a/b/resolve/refs%2fpr%2F3/x/a%20b.gguf?download=true");
        QCOMPARE(file.file, std::string("x/a b.gguf"));
        QCOMPARE(file.revision, std::string("refs/pr/3"));
        qputenv("HF_ENDPOINT", "http://hub.example:8080/mirror");
        QCOMPARE(parse_hub_name("http://hub.example:8080/mirror/a/b:Q8_0").repository, std::string("a/b"));
        QCOMPARE(parse_hub_name("http/b:Q8_0").type, std::string("Q8_0"));
        qunsetenv("HF_ENDPOINT");
        for (const char* const bad :
             {"", "a", "a/", "/b", "a/b/c", "../b", "a/..", "a b/c", "a/b:", "a/b:../x", "a/b?x",
              "https://elsewhere.example/a/b", "https://huggingface.co/", "https://huggingface.co/a"}) {
            const QString said = sentence_of([&] { static_cast<void>(parse_hub_name(bad)); });
            QVERIFY2(said.contains(QStringLiteral("is no repository")), bad);
        }
    }

    void access_isAsTheEnvironmentSays() {
        QCOMPARE(hub_access().endpoint, std::string("https://huggingface.co"));
        qputenv("HF_ENDPOINT", "http://hub.example:8080/mirror/");
        qputenv("HF_TOKEN", "secret");
        QCOMPARE(hub_access().endpoint, std::string("http://hub.example:8080/mirror"));
        QCOMPARE(hub_access().token, std::string("secret"));
        for (const char* const bad : {"hub.example", "ftp://hub.example", "https://", "https://me:pw@hub.example"}) {
            qputenv("HF_ENDPOINT", bad);
            QVERIFY2(sentence_of([] { static_cast<void>(hub_access()); }).startsWith(QStringLiteral("HF_ENDPOINT is")),
                     bad);
        }
        qunsetenv("HF_ENDPOINT");
        qunsetenv("HF_TOKEN");
    }

    void token_isTheOneThatWasKept_unlessOneIsSet() {
        const auto write = [&](const char* name, const char* text) {
            QFile file(m_folder->filePath(QLatin1String(name)));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text);
        };
        qputenv("HF_HOME", m_folder->path().toUtf8());
        QCOMPARE(hub_access().token, std::string());
        write("token", " kept\n");
        QCOMPARE(hub_access().token, std::string("kept"));
        for (const auto& [name, value] :
             {std::pair("HF_ENDPOINT", "http://hub.example"), std::pair("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")}) {
            qputenv(name, value);
            QCOMPARE(hub_access().token, std::string());
            qunsetenv(name);
        }
        write("other", "other");
        qputenv("HF_TOKEN_PATH", m_folder->filePath(QStringLiteral("other")).toUtf8());
        QCOMPARE(hub_access().token, std::string("other"));
        qputenv("HF_TOKEN", "set");
        QCOMPARE(hub_access().token, std::string("set"));
        for (const char* const name : {"HF_TOKEN", "HF_TOKEN_PATH"}) qunsetenv(name);
        qputenv("HF_HOME", "/nowhere");
    }

    void token_thatWasKept_isLeftOut_whereItIsRefused() {
        m_hub->setFault([](const HubRequest& request, HubAnswer& answer) {
            if (request.headers.contains("authorization")) answer = {.status = 401};
        });
        HubDownload wanted = download();
        wanted.access.token = "expired";
        const auto list = [&] {
            HubConnection connection(wanted.access);
            return read_hub_repository(connection, kRepository, "main", {}).files.size();
        };
        QVERIFY(sentence_of([&] { static_cast<void>(list()); }).contains(QStringLiteral("set HF_TOKEN")));
        wanted.access.token_is_kept = true;
        QCOMPARE(list(), wanted.repository.files.size());
        QCOMPARE(contents(get_model(wanted, {})), m_hub->file(kFile));
    }

    void address_ofAFile_meansThatFile() {
        m_hub->add("Draft-Q8_0.gguf", random_bytes(1'000, 5));
        const HubDownload wanted = download();
        QCOMPARE(choose_model(wanted.repository, {.type = "Q8_0"}).bytes(), std::uint64_t{1'000});
        QCOMPARE(choose_model(wanted.repository, {.file = "Model-Q8_0.gguf"}).bytes(), std::uint64_t{90'000});
        QCOMPARE(choose_model(wanted.repository, {.file = "UD/Model-UD-Q2_K_XL-00002-of-00002.gguf"}).files.size(),
                 std::size_t{2});
        QVERIFY(sentence_of([&] {
                    static_cast<void>(choose_model(wanted.repository, {.file = "mmproj-F16.gguf"}));
                }).startsWith(QStringLiteral("mmproj-F16.gguf is not a file of a model")));
    }

    void revision_mayHaveSlashes() {
        HubDownload wanted = download();
        HubConnection connection(wanted.access);
        m_hub->takeRequests();
        wanted.repository = read_hub_repository(connection, kRepository, "refs/pr/3", {});
        QCOMPARE(m_hub->takeRequests().value(0).target,
                 QByteArray("/api/models/maker/Model-GGUF/revision/refs%2Fpr%2F3?blobs=true"));
        const fs::path path = get_model(wanted, {});
        QCOMPARE(contents(path.parent_path().parent_path().parent_path() / "refs/refs/pr/3"), m_hub->commit());
        for (const char* const bad : {"../x", "a//b", "a/", "a b"}) {
            QVERIFY2(sentence_of([&] {
                         read_hub_repository(connection, kRepository, bad, {});
                     }).contains(QStringLiteral("is no revision")),
                     bad);
        }
    }

    void choices_areTypes_splitFilesAreOne() {
        const HubDownload wanted = download("");  // the usual one, where there are several
        QCOMPARE(wanted.model.type, std::string("Q4_K_M"));
        const std::vector<HubModel> all = models_of(wanted.repository);
        QCOMPARE(all.size(), std::size_t{3});
        QCOMPARE(all[0].type, std::string("UD-Q2_K_XL"));
        QCOMPARE(all[0].files.size(), std::size_t{2});
        QCOMPARE(all[0].bytes(), std::uint64_t{30'000});
        QCOMPARE(choose_model(wanted.repository, {.type = "q8_0"}).bytes(), std::uint64_t{90'000});
        QCOMPARE(choose_model(wanted.repository, {.type = "q4_k"}).type, std::string("Q4_K_M"));
        QCOMPARE(choose_model(wanted.repository, {.type = "q2_k"}).type, std::string("UD-Q2_K_XL"));
        QCOMPARE(
            sentence_of([&] { static_cast<void>(choose_model(wanted.repository, {.type = "Q5_K"})); }),
            QStringLiteral("maker/Model-GGUF has no file of type Q5_K; expected one of UD-Q2_K_XL, Q4_K_M, Q8_0."));
    }

    void file_liesInTheCache_whereOtherProgramsLook() {
        HubServer elsewhere;  // the hub sends requests for files there
        elsewhere.add(kFile, m_hub->file(kFile));
        m_hub->setFault([&](const HubRequest& request, HubAnswer& answer) {
            if (request.isListing()) return;
            answer = {.status = 302};
            answer.headers = "Location: " + QByteArray::fromStdString(elsewhere.endpoint()) + request.target + "\r\n";
        });
        HubDownload wanted = download();
        wanted.access.token = "secret";
        std::uint64_t last = 0;
        wanted.progress = [&](const HubProgress& now) {
            if (!now.checking) last = now.bytes_done;
        };
        const fs::path path = get_model(wanted, {});
        QCOMPARE(last, std::uint64_t{50'000});
        QCOMPARE(contents(path), m_hub->file(kFile));
        QVERIFY(fs::is_symlink(path));
        QCOMPARE(fs::read_symlink(path), fs::path("../../blobs") / blob(kFile).filename());
        QCOMPARE(contents(path.parent_path().parent_path().parent_path() / "refs/main"), m_hub->commit());
        QCOMPARE(std::distance(fs::directory_iterator(blob(kFile).parent_path()), {}), 1);  // nothing beside it
        // The token is the hub's alone.
        for (const HubRequest& request : m_hub->takeRequests()) {
            if (!request.isListing()) QCOMPARE(request.headers.value("authorization"), "Bearer secret");
        }
        const QList<HubRequest> seen = elsewhere.takeRequests();
        QCOMPARE(seen.size(), (50'000 + kPart - 1) / kPart);
        for (const HubRequest& request : seen) QVERIFY(!request.headers.contains("authorization"));
        // Nothing is asked for again.
        const int before = m_hub->requests();
        QCOMPARE(get_model(wanted, {}), path);
        QCOMPARE(m_hub->requests(), before);
        // It is one of the models on this computer.
        const ModelPlace cache{ModelOrigin::kHuggingFace, wanted.cache};
        QCOMPARE(find_models(std::span(&cache, 1)).n_others + std::ssize(find_models(std::span(&cache, 1)).problems) +
                     std::ssize(find_models(std::span(&cache, 1)).models),
                 std::int64_t{1});
    }

    void splitFile_isOneThing() {
        const fs::path first = get_model(download("UD-Q2_K_XL"), {});
        QCOMPARE(first.filename(), fs::path("Model-UD-Q2_K_XL-00001-of-00002.gguf"));
        QCOMPARE(contents(first), m_hub->file("UD/Model-UD-Q2_K_XL-00001-of-00002.gguf"));
        QCOMPARE(contents(first.parent_path() / "Model-UD-Q2_K_XL-00002-of-00002.gguf"),
                 m_hub->file("UD/Model-UD-Q2_K_XL-00002-of-00002.gguf"));
    }

    // Each fault for a third of the requests: the download goes on.
    void passingFaults_areOvercome_data() {
        QTest::addColumn<int>("status");
        QTest::newRow("a connection that is cut in the middle") << 0;
        QTest::newRow("server errors") << 503;
        QTest::newRow("too many requests") << 429;
    }
    void passingFaults_areOvercome() {
        QFETCH(int, status);
        HubDownload wanted = download();
        wanted.connections = 1;
        int n = 0;
        m_hub->setFault([&](const HubRequest&, HubAnswer& answer) {
            if (++n % 3 != 0) return;
            if (status == 0) {
                answer.cutAfter = answer.body.size() / 2;
            } else {
                answer = {.status = status, .headers = n == 3 ? "Retry-After: 1\r\n" : ""};
            }
        });
        QElapsedTimer time;
        time.start();
        QCOMPARE(contents(get_model(wanted, {})), m_hub->file(kFile));
        QVERIFY(n > 13);
        if (status != 0) QVERIFY(time.elapsed() >= 1000);  // as long as the hub asked for
    }

    void cutPart_goesOnWhereItStopped() {
        m_hub->add(kFile, random_bytes(3'000'000, 5));
        HubDownload wanted = download();
        wanted.part_bytes = 3'000'000;
        m_hub->setFault([&](const HubRequest& request, HubAnswer& answer) {
            if (request.begin == 0) answer.cutAfter = 2'000'000;
        });
        m_hub->takeRequests();
        QCOMPARE(contents(get_model(wanted, {})), m_hub->file(kFile));
        QList<HubRequest> requests = m_hub->takeRequests();
        QVERIFY2(requests.takeLast().begin > 1'000'000, "but for what was on its way");
    }

    // What cannot be right ends with a sentence, and no file is there.
    void lies_endWithASentence_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("other bytes") << "bytes"
                                     << "Model-Q4_K_M.gguf is not what 127.0.0.1 announced: its checksum is ";
        QTest::newRow("another range") << "range"
                                       << "127.0.0.1 sent another part of Model-Q4_K_M.gguf than was asked for.";
        QTest::newRow("the whole file for each part") << "whole"
                                                      << "127.0.0.1 sent another part of Model-Q4_K_M.gguf";
        QTest::newRow("more than the range") << "more"
                                             << "127.0.0.1 answered the request for Model-Q4_K_M.gguf with more than";
        QTest::newRow("always cut") << "cut"
                                    << "127.0.0.1 ended the connection again and again while it sent Model-Q4_K_M";
        QTest::newRow("a circle of redirects") << "circle"
                                               << "127.0.0.1 sends requests for Model-Q4_K_M.gguf from one address";
        QTest::newRow("a redirect to a file") << "file"
                                              << "to an address that is not secure: file:///etc/passwd";
        QTest::newRow("headers without an end") << "endless"
                                                << "127.0.0.1 was not reached: ";
        QTest::newRow("no answer") << "silence"
                                   << "127.0.0.1 was not reached: no answer";
        QTest::newRow("no permission") << "401"
                                       << "127.0.0.1 gives Model-Q4_K_M.gguf only to people who may have it";
        QTest::newRow("not there") << "404"
                                   << "127.0.0.1 has no Model-Q4_K_M.gguf.";
        QTest::newRow("come back in an hour") << "hour"
                                              << "127.0.0.1 takes no requests for the next 3600 seconds";
        QTest::newRow("always an error") << "500"
                                         << "127.0.0.1 answered the request for Model-Q4_K_M.gguf with status 500.";
    }
    void lies_endWithASentence() {
        QFETCH(QString, fault);
        QFETCH(QString, sentence);
        HubDownload wanted = download();
        m_hub->setFault([&](const HubRequest& request, HubAnswer& answer) {
            if (fault == "bytes") {
                answer.body = random_bytes(static_cast<int>(answer.body.size()), 99);
            } else if (fault == "range") {
                answer.headers = HubServer::contentRange(0, 4000, 50'000);
            } else if (fault == "whole") {
                answer = {.body = m_hub->file("README.md")};
            } else if (fault == "more") {
                answer.body += "more";
            } else if (fault == "cut") {
                answer.cutAfter = 0;
            } else if (fault == "circle") {
                answer = {.status = 302, .headers = "Location: " + request.target + "\r\n"};
            } else if (fault == "file") {
                answer = {.status = 302, .headers = "Location: file:///etc/passwd\r\n"};
            } else if (fault == "endless") {
                answer.hasEndlessHeaders = true;
            } else if (fault == "silence") {
                answer.isSilent = true;
            } else if (fault == "hour") {
                answer = {.status = 429, .headers = "Retry-After: 3600\r\n"};
            } else {
                answer = {.status = fault.toInt()};
            }
        });
        if (fault == "endless" || fault == "silence") {
            wanted.access.patience = std::chrono::milliseconds(200);
            wanted.access.repetitions = 0;
        }
        const QString said = failure(wanted);
        QVERIFY2(said.contains(sentence), qPrintable(said));
        QVERIFY(!fs::exists(blob(kFile)));
        m_hub->setFault({});
        wanted.access.patience = std::chrono::seconds(20);
        QCOMPARE(contents(get_model(wanted, {})), m_hub->file(kFile));
    }

    // Qt's thread, too: it takes the abort while headers come.
    void headersWithoutAnEnd_leaveNoThread() {
        const auto threads = [] {
            const fs::directory_iterator all("/proc/self/task");
            return std::count_if(begin(all), end(all), [](const fs::directory_entry& thread) {
                return contents(thread.path() / "comm").startsWith("QNetworkAccess");
            });
        };
        m_hub->setFault([](const HubRequest&, HubAnswer& answer) { answer.hasEndlessHeaders = true; });
        const auto before = threads();
        {
            HubAccess impatient = access();
            impatient.patience = std::chrono::milliseconds(200);
            HubConnection connection(impatient);
            const QString said = sentence_of([&] { static_cast<void>(connection.get("/api/x", "x", 1000, {})); });
            QTRY_COMPARE(threads(), before + 1);
            QVERIFY2(said.startsWith(QStringLiteral("127.0.0.1 was not reached: ")), qPrintable(said));
        }
        QTRY_COMPARE(threads(), before);  // the system takes a moment
    }

    // By a server that knows no ranges; it comes in several pieces.
    void wholeFile_asOnePart_isTaken() {
        m_hub->add(kFile, random_bytes(300'000, 7));
        HubDownload wanted = download();
        wanted.part_bytes = 1 << 20;
        m_hub->setFault([&](const HubRequest&, HubAnswer& answer) { answer = {.body = m_hub->file(kFile)}; });
        QCOMPARE(contents(get_model(wanted, {})), m_hub->file(kFile));
    }

    // Its weights would begin behind its end.
    void preview_ofAFileWithoutWeights_ends() {
        const std::string file = offstage::tests::GgufWriter().add("general.architecture", "llama").bytes();
        for (const int more : {0, 1, 5}) {
            m_hub->add("Words-F16.gguf",
                       QByteArray::fromStdString(file.substr(0, file.size() - static_cast<std::size_t>(more))));
            const HubDownload wanted = download("F16");
            try {
                const HubPreview preview(wanted, {});
            } catch (const Error& error) {
                QVERIFY(error.kind() == ErrorKind::kInvalidModel);
            }
        }
    }

    void listings_thatAreNone_areRefused_data() {
        QTest::addColumn<QByteArray>("listing");
        QTest::addColumn<QString>("sentence");
        const QByteArray commit(40, 'c'), sum(64, 'b');
        const auto one = [&](const QByteArray& path, const QByteArray& digits, const QByteArray& size) {
            return "{\"sha\":\"" + commit + "\",\"siblings\":[{\"rfilename\":\"" + path + "\",\"size\":" + size +
                   ",\"lfs\":{\"sha256\":\"" + digits + "\"}}]}";
        };
        for (const char* const path :
             {"../../.bashrc", "/etc/x.gguf", "a/../../x.gguf", "a//b.gguf", ".", "", "a/.."}) {
            QTest::addRow("the path \"%s\"", path) << one(path, sum, "1") << "outside of the model's folder";
        }
        QTest::newRow("a checksum that is a path") << one("m.gguf", "../../x", "1") << "cannot be read: m.gguf";
        QTest::newRow("a size below zero") << one("m.gguf", sum, "-1") << "siblings.size";
        QTest::newRow("a commit that is a path")
            << QByteArray("{\"sha\":\"../..\",\"siblings\":[]}") << "cannot be read: sha";
        QTest::newRow("no list") << QByteArray("{\"sha\":\"" + commit + "\",\"siblings\":[1]}") << "siblings";
        QTest::newRow("no object") << QByteArray("[]") << "cannot be read";
        QTest::newRow("no JSON") << QByteArray("<html>") << kRepository;
        QTest::newRow("too much") << QByteArray((16 << 20) + 1, ' ') << "with more than was asked for";
    }
    void listings_thatAreNone_areRefused() {
        QFETCH(QByteArray, listing);
        QFETCH(QString, sentence);
        m_hub->setFault([&](const HubRequest&, HubAnswer& answer) { answer.body = listing; });
        const QString said = sentence_of([&] { static_cast<void>(download()); });
        QVERIFY2(said.contains(sentence), qPrintable(said));
    }

    void listings_ofTheFuzzersCorpus() {
        int read = 0, refused = 0;
        for (const fs::directory_entry& each :
             fs::directory_iterator(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/hub_listing")) {
            try {
                const HubRepository found =
                    parse_hub_listing(contents(each.path()).toStdString(), kRepository, "main", "hub");
                QVERIFY2(!models_of(found).empty(), each.path().c_str());
                ++read;
            } catch (const Error& error) {
                QCOMPARE(error.kind(), ErrorKind::kInvalidModel);
                ++refused;
            }
        }
        QCOMPARE(read, 3);
        QCOMPARE(refused, 1);
    }

    void listing_thatIsCut_isAskedForAgain() {
        int n = 0;
        m_hub->setFault([&](const HubRequest&, HubAnswer& answer) {
            if (++n == 1) answer.cutAfter = 20;
        });
        QCOMPARE(download().model.type, std::string("Q4_K_M"));
        QCOMPARE(n, 2);
    }

    void stopping_keepsTheParts() {
        std::stop_source stop;
        HubDownload wanted = download();
        wanted.connections = 1;
        m_hub->setFault([&](const HubRequest& request, HubAnswer& answer) {
            if (request.begin < 5 * kPart) return;
            answer.isSilent = true;
            stop.request_stop();
        });
        QCOMPARE(sentence_of([&] { static_cast<void>(get_model(wanted, stop.get_token())); }),
                 QStringLiteral("The download was stopped; it goes on from here the next time."));
        QVERIFY(fs::exists(blob(kFile, ".offstage.parts")));
        m_hub->setFault({});
        const int before = m_hub->requests();
        QCOMPARE(contents(get_model(wanted, {})), m_hub->file(kFile));
        QCOMPARE(m_hub->requests() - before, 8);  // of 13 parts
    }

    // The list of parts is no stronger than its file.
    void damagedList_beginsAnew_data() {
        QTest::addColumn<QByteArray>("list");
        QTest::addColumn<int>("parts");
        QTest::newRow("another size of parts") << QByteArray("8192 bytes a part\n0\n1\n") << 13;
        QTest::newRow("no list") << QByteArray("0\n1\n2\n") << 13;
        QTest::newRow("empty") << QByteArray() << 13;
        QTest::newRow("a line that was cut off") << QByteArray("4096 bytes a part\n0\n1") << 12;
        QTest::newRow("parts that are none") << QByteArray("4096 bytes a part\n99\n-1\n") << 13;
    }
    void damagedList_beginsAnew() {
        QFETCH(QByteArray, list);
        QFETCH(int, parts);
        const HubDownload wanted = download();
        fs::create_directories(blob(kFile).parent_path());
        QByteArray beginning = m_hub->file(kFile).left(kPart);
        beginning.resize(50'000, 'x');
        std::ofstream(blob(kFile, ".offstage"), std::ios::binary) << beginning.toStdString();
        std::ofstream(blob(kFile, ".offstage.parts"), std::ios::binary) << list.toStdString();
        QCOMPARE(contents(get_model(wanted, {})), m_hub->file(kFile));
        QCOMPARE(m_hub->requests(), parts);
    }

    void sameFile_isGotByOneProgram() {
        const HubDownload wanted = download();
        fs::create_directories(blob(kFile).parent_path());
        const PartialFile other(wanted.model.files.front(), blob(kFile).parent_path(), kPart);
        QCOMPARE(failure(wanted), QStringLiteral("Another program is getting Model-Q4_K_M.gguf already."));
        QCOMPARE(m_hub->requests(), 0);
    }

    void room_isAskedFirst() {
        HubDownload wanted = download();
        QCOMPARE(bytes_without_room(wanted), std::uint64_t{0});
        wanted.model.files.front().bytes = std::uint64_t{1} << 43;
        QVERIFY(bytes_without_room(wanted) > 0);
        const QString said = failure(wanted);
        QVERIFY2(said.contains(QStringLiteral("more than the disk of")), qPrintable(said));
        QCOMPARE(m_hub->requests(), 0);
    }

    // Only the headers come; the estimate is the file's own.
    void preview_readsHeadersAlone_andPlans_data() {
        QTest::addColumn<bool>("gguf");
        QTest::newRow("GGUF") << true;
        QTest::newRow("safetensors") << false;
    }
    void preview_readsHeadersAlone_andPlans() {
        QFETCH(bool, gguf);
        fs::path whole = offstage::test::demoModel();
        m_hub = std::make_unique<HubServer>();
        if (gguf) {
            whole = m_folder->filePath(QStringLiteral("whole.gguf")).toStdString();
            offstage::tests::write_mixed_gguf(whole.string());
            // As long as a real one: behind the tensors nothing counts.
            m_hub->add("Tiny-Q4_K_M.gguf", contents(whole) + QByteArray(8 << 20, 'x'));
        } else {
            for (const fs::directory_entry& file : fs::directory_iterator(whole)) {
                if (!file.is_regular_file()) continue;
                m_hub->add(QByteArray::fromStdString(file.path().filename().string()), contents(file.path()));
            }
        }
        const HubDownload wanted = download("");
        const qint64 before = m_hub->bytesSent();
        const HubPreview preview(wanted, {});
        const qint64 sent = m_hub->bytesSent() - before;
        QVERIFY2(sent < static_cast<qint64>(wanted.model.bytes()) / 2, qPrintable(QString::number(sent)));
        LoadRequest request;
        request.device = "cpu";
        FitEstimator there(whole.string(), FitEstimator::Text::kNotNeeded);
        FitEstimator coming(preview.model().string(), FitEstimator::Text::kHeadersAlone);
        const FitEstimate real = there.estimate(request), foreseen = coming.estimate(request);
        QVERIFY(foreseen.fits);
        QCOMPARE(foreseen.ram.dense, real.ram.dense);
        QCOMPARE(foreseen.ram.experts, real.ram.experts);
        QCOMPARE(foreseen.shape.spec.experts.size(), real.shape.spec.experts.size());
        QVERIFY(!fs::exists(wanted.cache));  // nothing was got
    }

    void preview_ofAFileThatIsNone_isRefused() {
        const QString said = sentence_of([&] { const HubPreview preview(download(), {}); });
        QVERIFY2(said.contains(QStringLiteral("Model-Q4_K_M.gguf")), qPrintable(said));
    }

    void withoutAServer_theSentenceNamesIt() {
        const HubDownload wanted = download();
        m_hub.reset();
        QVERIFY2(failure(wanted).startsWith(QStringLiteral("127.0.0.1 was not reached: ")),
                 qPrintable(failure(wanted)));
    }

    void certificate_thatNobodyTrusts_isRefused() {
        m_hub = std::make_unique<HubServer>(HubServer::Security::kOwnCertificate);
        const QString said = sentence_of([&] { static_cast<void>(download()); });
        QVERIFY2(said.startsWith(QStringLiteral("localhost has no certificate that this computer trusts (")),
                 qPrintable(said));
        QVERIFY(m_hub->takeRequests().isEmpty());
    }

    void proxy_isHonoured() {
        qputenv("http_proxy", QByteArray::fromStdString(m_hub->endpoint()));
        HubDownload wanted;
        wanted.access = access();
        wanted.access.endpoint = "http://hub.invalid";
        HubConnection connection(wanted.access);
        wanted.repository = read_hub_repository(connection, kRepository, "main", {});
        qunsetenv("http_proxy");
        QCOMPARE(wanted.repository.files.size(), std::size_t{6});
        QCOMPARE(m_hub->takeRequests().value(0).proxiedTo, QByteArray("hub.invalid"));
    }
};

QTEST_GUILESS_MAIN(TestHub)
#include "tst_hub.moc"
