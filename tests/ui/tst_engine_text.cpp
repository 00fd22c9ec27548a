// What the engine says is said in the window's language: real sentences of the real engine, every template, and the
// list of them beside the engine's sources.

#include <algorithm>
#include <functional>

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QLabel>
#include <QRegularExpression>
#include <QSet>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTranslator>

#include "engine/device/hardware_profile.h"
#include "engine/error.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/session.h"
#include "engine/text/chat_template.h"
#include "tests/ui/source_literals.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine_controller.h"
#include "ui/engine_sentences.h"
#include "ui/engine_text.h"
#include "ui/language.h"
#include "ui/load_banner.h"
#include "ui/panels/event_log.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");

// A window's language, for a while.
class Speaks {
  public:
    explicit Speaks(const QString& code) {
        m_works = m_translator.load(QStringLiteral(":/i18n/offstage_%1.qm").arg(code)) &&
                  QCoreApplication::installTranslator(&m_translator);
        QLocale::setDefault(QLocale(code));
    }
    ~Speaks() {
        QCoreApplication::removeTranslator(&m_translator);
        QLocale::setDefault(QLocale::c());
    }
    bool works() const { return m_works; }
    const QTranslator& translator() const { return m_translator; }

  private:
    QTranslator m_translator;
    bool m_works = false;
};

const QRegularExpression& place() {
    static const QRegularExpression found(QStringLiteral("%([1-9])"));
    return found;
}

// The text with its places filled: %2 becomes "<2>".
QString filled(const QString& text) {
    return QString(text).replace(place(), QStringLiteral("<\\1>"));
}

QString sentenceOf(const std::function<void()>& fails) {
    try {
        fails();
    } catch (const engine::Error& error) {
        return QString::fromUtf8(error.what());
    }
    return {};
}

bool write(const QString& path, const QByteArray& content) {
    QFile file(path);
    return QDir().mkpath(QFileInfo(path).path()) && file.open(QIODevice::WriteOnly) &&
           file.write(content) == content.size();
}

QString fitProblem(const QString& model, engine::FitEstimator::Text text = engine::FitEstimator::Text::kNotNeeded) {
    return sentenceOf([&] { engine::FitEstimator(model.toStdString(), text); });
}

// Words of English that are none of German nor of Vietnamese, outside of what is quoted and of paths.
QStringList englishIn(QString text) {
    static const QRegularExpression quoted(QStringLiteral("\"[^\"]*\"|'[^']*'|/[^ :]+"));
    static const QRegularExpression english(
        QStringLiteral("\\b(the|is|are|of|has|and|not|expected|from|where|there|with|its|for|needs|by)\\b"),
        QRegularExpression::CaseInsensitiveOption);
    text.remove(quoted);
    QStringList words;
    for (auto match = english.globalMatch(text); match.hasNext();) {
        words.append(match.next().captured());
    }
    return words;
}

// Of one source: a sentence is put together in one place.
bool occursIn(const QList<SourceLiterals>& sources, const QString& sentence) {
    const QStringList fixed = sentence.split(place(), Qt::SkipEmptyParts);
    return std::any_of(sources.begin(), sources.end(), [&](const SourceLiterals& source) {
        return std::all_of(fixed.begin(), fixed.end(),
                           [&](const QString& text) { return isMadeOf(source.literals, text); });
    });
}

}  // namespace

class TestEngineText : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    // A model's folder with the demo model's files, of which some are others.
    QString model(const QString& name, const QMap<QString, QByteArray>& files) {
        const QString folder = m_folder.filePath(QString(name).replace(u' ', u'-'));
        QDir().mkpath(folder);
        for (const char* file : {"config.json", "tokenizer.model", "tokenizer_config.json"}) {
            const QString path = folder + u'/' + QLatin1String(file);
            QFile::remove(path);
            if (!files.contains(QLatin1String(file)) && !QFile::copy(kDemo + u'/' + QLatin1String(file), path)) {
                return {};
            }
        }
        for (auto file = files.begin(); file != files.end(); ++file) {
            if (!file.value().isNull() && !write(folder + u'/' + file.key(), file.value())) {
                return {};
            }
        }
        return folder;
    }

  private Q_SLOTS:
    void initTestCase() {
        QVERIFY(m_folder.isValid());
        speak(*qApp, QStringLiteral("en"));  // which makes the catalogues known
    }

    void english_isLeftAsItIs() {
        const QString sentence = QStringLiteral("No model is loaded; open one first.");
        QCOMPARE(engineText(sentence), sentence);
    }

    // A file's name may be anything, and an error repeats it: no text takes long, however much it looks like sentences.
    void hostileText_ends_data() {
        QTest::addColumn<QString>("piece");
        QTest::newRow("colons") << QStringLiteral("a: b: ");
        QTest::newRow("sentences") << QStringLiteral("A. B. ");
        QTest::newRow("fields") << QStringLiteral("x: \"y\" is z; expected an object. ");
        QTest::newRow("files") << QStringLiteral("f: cannot be opened: ");
        QTest::newRow("values") << QStringLiteral("a number from 1 to ");
    }

    void hostileText_ends() {
        QFETCH(QString, piece);
        const Speaks german(QStringLiteral("de"));
        QVERIFY(german.works());
        const QString text = piece.repeated(1990 / static_cast<int>(piece.size()));
        QElapsedTimer clock;
        clock.start();
        QVERIFY(!engineText(text).isEmpty());
        qInfo("%.1f ms", static_cast<double>(clock.nsecsElapsed()) / 1e6);
    }

    void sentence_isSaidInBothLanguages_data() {
        QTest::addColumn<QString>("english");
        QTest::addColumn<QString>("german");
        QTest::addColumn<QString>("vietnamese");
        const auto row = [](const char* name, const char* english, const char* german, const char* vietnamese) {
            QTest::newRow(name) << QString::fromUtf8(english) << QString::fromUtf8(german)
                                << QString::fromUtf8(vietnamese);
        };
        row("without parts", "No model is loaded; open one first.",
            "Es ist kein Modell geladen; bitte zuerst eines öffnen.",
            "Chưa nạp mô hình nào; hãy mở một mô hình trước.");
        row("parts in another order", "There is no expert 9 in layer 3 of the loaded model; it has 4 layers of 8.",
            "In Schicht 3 des geladenen Modells gibt es keinen Experten 9; es hat 4 Schichten mit je 8.",
            "Không có chuyên gia 9 ở lớp 3 của mô hình đã nạp; mô hình có 4 lớp, mỗi lớp 8.");
        row("sizes have the language's decimal point", "A budget of 1.5 GiB is too small for RAM: 1.8 GiB are in use.",
            "Ein Budget von 1,5 GiB ist zu klein für RAM: 1,8 GiB sind belegt.",
            "Hạn mức 1,5 GiB quá nhỏ cho RAM: đang dùng 1,8 GiB.");
        row("a part that is a sentence",
            "Tesla T4 has no room for copies on demand: Tesla T4 has no room for an expert: 5.3 MiB were asked for, "
            "1.0 MiB are left of the budget of 64.0 MiB.",
            "Tesla T4 hat keinen Platz für Kopien bei Bedarf: Tesla T4 hat keinen Platz für: ein Experte. Angefordert: "
            "5,3 MiB; vom Budget von 64,0 MiB sind noch 1,0 MiB übrig.",
            "Tesla T4 không còn chỗ cho các bản sao khi cần: Tesla T4 không còn chỗ cho một chuyên gia: yêu cầu "
            "5,3 MiB, còn lại 1,0 MiB trong hạn mức 64,0 MiB.");
        row("sentences that follow one another",
            "Memory is short: prompts are read in steps of 64 tokens. RAM is short: 12 experts are read from disk "
            "whenever they are needed.",
            "Der Speicher ist knapp: Prompts werden in Schritten von 64 Tokens gelesen. RAM ist knapp: 12 Experten "
            "werden bei jedem Bedarf vom Datenträger gelesen.",
            "Thiếu bộ nhớ: lời nhắc được đọc theo từng bước 64 token. Thiếu RAM: 12 chuyên gia được đọc từ đĩa mỗi khi "
            "cần.");
        row("sentences that end alike",
            "The conversation has outgrown a context of 256 tokens: it holds 300. Going back failed as well: The "
            "conversation has outgrown a context of 128 tokens: it holds 301.",
            "Die Unterhaltung ist über einen Kontext von 256 Tokens hinausgewachsen: Sie hat 300. Auch die Rückkehr "
            "ist gescheitert: Die Unterhaltung ist über einen Kontext von 128 Tokens hinausgewachsen: Sie hat 301.",
            "Cuộc trò chuyện đã vượt ngữ cảnh 256 token: nó có 300. Quay lại cũng không thành công: Cuộc trò chuyện đã "
            "vượt ngữ cảnh 128 token: nó có 301.");
        row("two sentences of one template, and then another",
            "There is no memory for activations: 2.0 GiB were asked for. Close other programs or choose a smaller "
            "model. No model is loaded; open one first.",
            "Es fehlt Speicher für: Aktivierungen. Angefordert: 2,0 GiB. Bitte andere Programme schließen oder ein "
            "kleineres Modell wählen. Es ist kein Modell geladen; bitte zuerst eines öffnen.",
            "Không có bộ nhớ cho các giá trị kích hoạt: yêu cầu 2,0 GiB. Hãy đóng các chương trình khác hoặc chọn mô "
            "hình nhỏ hơn. "
            "Chưa nạp mô hình nào; hãy mở một mô hình trước.");
        row("behind the device's name", "NVIDIA H200: The GPU answers no more: an illegal memory access.",
            "NVIDIA H200: Die GPU antwortet nicht mehr: an illegal memory access.",
            "NVIDIA H200: GPU không còn phản hồi: an illegal memory access.");
        row("a path with a full stop", "/Dr. Who: larger than 1 MiB; expected a hardware profile",
            "/Dr. Who: größer als 1 MiB; erwartet: ein Hardwareprofil",
            "/Dr. Who: lớn hơn 1 MiB; cần một hồ sơ phần cứng");
        row("a choice of the dispatcher",
            "speculative loading is kept: 5.25 ms per token against 6.10 with no speculative loading (48 tokens each)",
            "„spekulatives Laden“ bleibt: 5.25 ms je Token gegenüber 6.10 ms bei „kein spekulatives Laden“ (je 48 "
            "Tokens)",
            "Giữ nạp phỏng đoán: 5.25 ms mỗi token so với 6.10 ms với không nạp phỏng đoán (mỗi bên 48 token)");
        row("a known one behind an unknown one", "Something new. No model is loaded; open one first.",
            "Something new. Es ist kein Modell geladen; bitte zuerst eines öffnen.",
            "Something new. Chưa nạp mô hình nào; hãy mở một mô hình trước.");
        row("unknown", "Nothing that the engine says: 5 %1 %2.", "Nothing that the engine says: 5 %1 %2.",
            "Nothing that the engine says: 5 %1 %2.");
        row("nothing", "", "", "");
    }
    void sentence_isSaidInBothLanguages() {
        QFETCH(QString, english);
        QFETCH(QString, german);
        QFETCH(QString, vietnamese);
        for (int again = 0; again < 2; ++again) {  // what is kept is of one language
            {
                const Speaks de(QStringLiteral("de"));
                QVERIFY(de.works());
                QCOMPARE(engineText(english), german);
                QCOMPARE(engineText(english.toStdString()), german);
            }
            const Speaks vi(QStringLiteral("vi"));
            QVERIFY(vi.works());
            QCOMPARE(engineText(english), vietnamese);
        }
        QCOMPARE(engineText(english), english);
    }

    // What the engine really says: the parts of it that must not change, for each.
    void realSentence_comesOutWhole_data() {
        QTest::addColumn<QString>("english");
        QTest::addColumn<QStringList>("parts");
        const auto row = [](const char* name, const QString& english, const QStringList& parts) {
            QTest::newRow(name) << english << parts;
        };
        const QString none = m_folder.filePath(QStringLiteral("none"));
        row("no model", fitProblem(none), {none, QStringLiteral("config.json")});
        const QString gguf = m_folder.filePath(QStringLiteral("tiny.gguf"));
        QVERIFY(write(gguf, "GGUF"));
        row("a GGUF file", fitProblem(gguf), {QStringLiteral("tiny.gguf"), QStringLiteral("4")});
        const QString lost = model(QStringLiteral("lost"), {});
        QVERIFY(QFile::link(QStringLiteral("/gone/blob"), lost + QStringLiteral("/model.safetensors")));
        row("a link to nothing", fitProblem(lost), {lost, QStringLiteral("/gone/blob")});
        const QString foreign = m_folder.filePath(QStringLiteral("foreign"));
        QVERIFY(write(foreign + QStringLiteral("/other.bin"), "PK"));
        row("a folder of another format", fitProblem(foreign), {foreign, QStringLiteral("\"other.bin\"")});

        const auto config = [&](const char* name, const QByteArray& json) {
            const QString folder = model(QString::fromLatin1(name), {{QStringLiteral("config.json"), json}});
            QVERIFY(!folder.isEmpty());
            row(name, fitProblem(folder), {folder + QStringLiteral("/config.json")});
        };
        config("no JSON", "{");
        config("a number", "5");
        config("a key twice", R"({"a": 1, "a": 2})");
        config("another architecture", R"({"architectures": ["LlamaForCausalLM"]})");
        config("no architecture", R"({"model_type": "mixtral", "architectures": {}})");
        config("a text for a number", R"({"architectures": ["MixtralForCausalLM"], "hidden_size": "x"})");
        config("a missing key", R"({"architectures": ["MixtralForCausalLM"]})");
        config("quantized",
               R"({"architectures": ["MixtralForCausalLM"], "quantization_config": {"quant_method": "gptq"}})");
        config("a list for an object", R"({"architectures": ["MixtralForCausalLM"], "quantization_config": [1, 2]})");
        config("another activation", R"({"architectures": ["MixtralForCausalLM"], "hidden_act": "gelu"})");

        const auto weights = [&](const char* name, const QByteArray& content, const QString& part) {
            const QString folder = model(QString::fromLatin1(name), {{QStringLiteral("model.safetensors"), content}});
            QVERIFY(!folder.isEmpty());
            row(name, fitProblem(folder), {folder, part});
        };
        const auto header = [](const QByteArray& json) {
            QByteArray length(8, '\0');
            length[0] = static_cast<char>(json.size());
            return length + json;
        };
        weights("no weights", {}, QStringLiteral("model.safetensors.index.json"));
        weights("a short file", "abc", QStringLiteral("3"));
        weights("a GGUF file for weights", "GGUF\x01\x02\x03\x04 and more", QStringLiteral("GGUF"));
        weights("a cut header", QByteArray("\xff\0\0\0\0\0\0\0{", 9), QStringLiteral("255"));
        weights("no object", header("[]"), QStringLiteral("{"));
        weights("a tensor without a type", header(R"({"x": {"shape": [1], "data_offsets": [0, 2]}})"),
                QStringLiteral("\"x\""));
        weights("an unknown type", header(R"({"x": {"dtype": "Q9", "shape": [1], "data_offsets": [0, 2]}})"),
                QStringLiteral("\"Q9\""));
        weights("another tensor",
                header(R"({"x": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}})") + QByteArray(2, '\0'),
                QStringLiteral("model.layers.0"));
        weights("bytes too few", header(R"({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}})"),
                QStringLiteral("\"x\""));

        const auto text = [&](const char* name, const char* file, const QByteArray& content) {
            const QString folder = model(QString::fromLatin1(name), {{QLatin1String(file), content}});
            QVERIFY(!folder.isEmpty());
            row(name, fitProblem(folder, engine::FitEstimator::Text::kWanted), {folder});
        };
        text("a broken tokenizer", "tokenizer.model", "no pieces in here");
        text("a broken field", "tokenizer_config.json", R"({"added_tokens_decoder": 5, "chat_template": ""})");
        text("a broken chat template", "tokenizer_config.json", "{\"chat_template\": \"{% if x\"}");
        text("a filter of its own", "tokenizer_config.json", R"({"chat_template": "{{ x | pprint }}"})");
        const QString bpe = model(QStringLiteral("no tokenizer"), {{QStringLiteral("tokenizer.model"), QByteArray()},
                                                                   {QStringLiteral("tokenizer.json"), "{}"}});
        row("another tokenizer", fitProblem(bpe, engine::FitEstimator::Text::kWanted),
            {QStringLiteral("tokenizer.json"), QStringLiteral("model")});

        const auto rendered = [&](const char* name, const char* jinja) {
            row(name, sentenceOf([&] {
                    static_cast<void>(engine::ChatTemplate::parse(jinja, "x.jinja")->render({}, {}, false));
                }),
                {QStringLiteral("x.jinja"), QStringLiteral("1")});
        };
        rendered("a division", "{{ 1 / 0 }}");
        rendered("an undefined name", "{{ a.b.c }}");
        rendered("a wrong argument", "{{ 'x'.split(1) }}");
        rendered("two types", "{{ 1 + 'x' }}");

        engine::LoadRequest request;
        request.model = "synthetic:mixtral-mini";
        const auto estimate = [&](const char* name, const QStringList& parts) {
            engine::FitEstimate found;
            const QString refused = sentenceOf([&] { found = engine::FitEstimator(request.model).estimate(request); });
            row(name, refused.isEmpty() ? QString::fromStdString(found.problem) : refused, parts);
        };
        request.vram_bytes = 1 << 20;
        estimate("VRAM on the CPU", {QStringLiteral("VRAM"), QStringLiteral("CPU")});
        request.device = "emulated:t4";
        estimate("VRAM too small", {QStringLiteral("MiB"), QStringLiteral("VRAM")});
        request.vram_bytes = std::uint64_t{1} << 40;
        estimate("VRAM too large", {QStringLiteral("TiB")});
        request.device = "emulated:none-such";
        estimate("no such profile", {QStringLiteral("\"none-such\"")});
        request.device = "abacus";
        estimate("no such device", {QStringLiteral("\"abacus\"")});
        request.device = "cpu";
        request.vram_bytes = 0;
        request.ram_bytes = std::uint64_t{1} << 50;
        estimate("RAM too large", {QStringLiteral("1024")});
        request.ram_bytes = 1 << 20;
        estimate("RAM too small", {QStringLiteral("MiB"), QStringLiteral("RAM")});
        request.ram_bytes = 0;
        request.model = "synthetic:mixtral-mini?colour=blue";
        estimate("an unknown option", {QStringLiteral("\"colour\"")});
        request.model = "synthetic:cricket";
        estimate("no such synthetic model", {QStringLiteral("\"cricket\"")});

        row("a key of no profile",
            sentenceOf([] { static_cast<void>(engine::parse_hardware_profile(R"({"colour": 1})", "/tmp/own.json")); }),
            {QStringLiteral("/tmp/own.json"), QStringLiteral("\"colour\"")});

        const auto session = engine::Session::create();
        row("nothing is loaded", sentenceOf([&] { session->generate({}, {}, {}); }), {});
        engine::LoadRequest demo;
        demo.model = kDemo.toStdString();
        demo.n_threads = 1;
        demo.context = 256;
        demo.cache_directory = demo.quant_cache_directory = m_folder.filePath(QStringLiteral("cache")).toStdString();
        session->load(demo, {}, {});
        engine::GenerationRequest prompt;
        prompt.raw = true;
        row("no prompt", sentenceOf([&] { session->generate(prompt, {}, {}); }), {});
        for (int i = 0; i < 400; ++i) {
            prompt.raw_prompt += "Once upon a time ";
        }
        row("a prompt too long", sentenceOf([&] { session->generate(prompt, {}, {}); }), {QStringLiteral("256")});
        prompt.raw_prompt = "Once";
        prompt.sampler.temperature = -1;
        row("a temperature", sentenceOf([&] { session->generate(prompt, {}, {}); }), {QStringLiteral("temperature")});
        prompt.sampler.temperature = 1;
        prompt.beam.width = 1000;
        row("a beam", sentenceOf([&] { session->generate(prompt, {}, {}); }), {QStringLiteral("1000")});
        engine::ReplanRequest change;
        change.ram_bytes = 1 << 20;
        row("a change too small", sentenceOf([&] { static_cast<void>(session->preview(change)); }),
            {QStringLiteral("RAM")});
        change = {};
        change.vram_bytes = 1 << 20;
        row("a change of nothing", sentenceOf([&] { static_cast<void>(session->preview(change)); }),
            {QStringLiteral("VRAM")});
        row("no such expert", sentenceOf([&] {
                session->change_experts({engine::ExpertChange::Kind::kPin, {{0, 999}}});
            }),
            {QStringLiteral("999")});
    }
    void realSentence_comesOutWhole() {
        QFETCH(QString, english);
        QFETCH(QStringList, parts);
        QVERIFY(!english.isEmpty());
        QVERIFY2(!englishIn(english).isEmpty(), qPrintable(english));
        for (const char* code : {"de", "vi"}) {
            const Speaks language{QLatin1String(code)};
            QVERIFY(language.works());
            const QString said = engineText(english);
            QVERIFY2(said != english, qPrintable(english));
            QVERIFY2(englishIn(said).isEmpty(), qPrintable(english + u'\n' + said));
            for (const QString& part : parts) {
                QVERIFY2(english.contains(part), qPrintable(english + u'\n' + part));
                QVERIFY2(said.contains(part), qPrintable(said + u'\n' + part));
            }
        }
    }

    // Each is found in what it makes, and has all its parts there.
    void everyTemplate_isFoundAgain_data() {
        QTest::addColumn<QString>("language");
        QTest::newRow("German") << QStringLiteral("de");
        QTest::newRow("Vietnamese") << QStringLiteral("vi");
    }
    void everyTemplate_isFoundAgain() {
        QFETCH(QString, language);
        const Speaks speaks(language);
        QVERIFY(speaks.works());
        QVERIFY(engineSentences().size() > 400);
        QSet<QString> seen;
        for (const char* sentence : engineSentences()) {
            const QString english = QString::fromUtf8(sentence);
            QVERIFY2(!seen.contains(english), sentence);
            seen.insert(english);
            QVERIFY2(!english.contains(QRegularExpression(QStringLiteral("%[1-9]%[1-9]"))), sentence);
            const QString translation = speaks.translator().translate("EngineText", sentence);
            QVERIFY2(!translation.isEmpty(), sentence);
            QSet<QString> places, translated;
            for (auto match = place().globalMatch(english); match.hasNext();) {
                QVERIFY2(!places.contains(match.next().captured()), sentence);
                places.insert(QStringLiteral("%%1").arg(places.size() + 1));  // %1, %2 ... in their order
            }
            for (auto match = place().globalMatch(translation); match.hasNext();) {
                translated.insert(match.next().captured());
            }
            QCOMPARE(translated, places);
            QCOMPARE(engineText(filled(english)), filled(translation));
        }
    }

    void everyTemplate_isInTheEnginesSources() {
        const QList<SourceLiterals> sources = sourcesIn({QStringLiteral("engine"), QStringLiteral("kernels")});
        QVERIFY(sources.size() > 200);
        for (const char* sentence : engineSentences()) {
            QVERIFY2(occursIn(sources, QString::fromUtf8(sentence)), sentence);
        }
        // Half of one, or another word in it, would be noticed.
        QVERIFY(occursIn(sources, QStringLiteral("No model is loaded; open one first.")));
        QVERIFY(!occursIn(sources, QStringLiteral("No model is loaded; open one")));
        QVERIFY(!occursIn(sources, QStringLiteral("No model is loaded; choose one first.")));
        QVERIFY(!occursIn(sources, QStringLiteral("The VRAM budget is %1, but %2 has just %3 to give; lower it.")));
    }

    // The other way round: what these sources say is listed, but for what only the command line or a log shows.
    void everySentence_ofTheEngine_isListed() {
        static const QSet<QString> elsewhere = {
            // sources whose sentences no window meets
            QStringLiteral("engine/quant/weight_format.cpp"),    QStringLiteral("engine/plan/dispatch_settings.cpp"),
            QStringLiteral("engine/plan/prefetch_settings.cpp"), QStringLiteral("engine/plan/sensitivity.cpp"),
            QStringLiteral("engine/plan/compute_choice.cpp"),    QStringLiteral("engine/telemetry/routing_trace.cpp"),
            QStringLiteral("engine/plan/device_products.cpp"),   QStringLiteral("engine/plan/kv_type.cpp"),
            QStringLiteral("engine/run/plan_report.cpp"),        QStringLiteral("engine/model/tensor_types.cpp"),
            QStringLiteral("engine/cluster/cluster_bound.cpp")};
        static const QSet<QString> others = {
            // figures and names of files and keys
            QStringLiteral("model name"), QStringLiteral("active_file "), QStringLiteral("inactive_file "),
            QStringLiteral(" bit driver "), QStringLiteral(" without cuBLAS"), QStringLiteral("|up to "),
            QStringLiteral(" formats|rows of "), QStringLiteral(" with biases"),
            QStringLiteral("measured on every expert"), QStringLiteral("ByteLevel, TemplateProcessing, Sequence"),
            QStringLiteral("always, first, never"),
            QStringLiteral("NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, Sequence"),
            QStringLiteral("ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, Sequence"),
            QStringLiteral("Split, ByteLevel, Digits, Punctuation, Metaspace, Whitespace, WhitespaceSplit, Sequence"),
            QStringLiteral("Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous"),
            // for programmers and tests
            QStringLiteral("a block outlives its arena"), QStringLiteral("an event that nobody has submitted"),
            QStringLiteral("as described"), QStringLiteral("the header is copied as it lies in memory"),
            QStringLiteral("A copy in RAM failed (injected for a test)."),
            QStringLiteral("A copy to the GPU failed (injected for a test)."),
            QStringLiteral("A copy from the GPU failed (injected for a test)."), QStringLiteral("A copy to or from "),
            QStringLiteral(" failed (injected for a test)."),
            QStringLiteral("A calibration needs at least one expert."),
            // of the command line's options, and of files that only it reads and writes
            QStringLiteral("A dry run accounts time from a hardware profile, and "),
            QStringLiteral(
                " describes no GPU together with its host; expected emulated:PROFILE with a \"host\" section, "
                "like emulated:fiddler-env1."),
            QStringLiteral("A dry run is for synthetic models; expected synthetic:NAME, not "),
            QStringLiteral("; expected a number of bytes, or one with KiB, MiB, GiB or TiB, like 6GiB or 1.5GiB, below "
                           "16 million TiB."),
            QStringLiteral(" is no cache policy; expected one of "), QStringLiteral("There is no dispatch policy \""),
            QStringLiteral("\"; there are auto, "), QStringLiteral(" cannot be written: "),
            QStringLiteral("This session leaves out no neurons."), QStringLiteral("room for other conversations ("),
            QStringLiteral("Room for "), QStringLiteral(" tokens of other conversations was asked for; expected 0 to "),
            QStringLiteral("The sensitivities are of "), QStringLiteral("; expected those of this model."),
            QStringLiteral("a list of pairs [tokens, microseconds], tokens ascending from 1"),
            // other programs' names
            QStringLiteral("Hugging Face"), QStringLiteral("LM Studio"),
            // lines of the system's files
            QStringLiteral("Max address space"), QStringLiteral("Max data size"),
            // listed with a part in their place: "%1 without an argument"
            QStringLiteral("range without an argument"), QStringLiteral("count without an argument"),
            QStringLiteral("find without an argument"), QStringLiteral("join without an argument"),
            QStringLiteral(" where 'in' is expected"), QStringLiteral("' where it does not belong"),
            QStringLiteral("the field pieces is of the wrong kind"), QStringLiteral("' is expected"),
            QStringLiteral("an item")};
        QStringList listed;
        for (const char* sentence : engineSentences()) {
            listed += QString::fromUtf8(sentence).split(place(), Qt::SkipEmptyParts);
        }
        static const QRegularExpression words(QStringLiteral("[A-Za-z]{2,}\\S* (.* )?\\S*[A-Za-z]{2,}"));
        static const QRegularExpression noSentence(QStringLiteral("[\n{]|%[-.0-9]*[a-z]"));
        QStringList missing;
        for (const SourceLiterals& source : sourcesIn({QStringLiteral("engine")})) {
            // The server speaks to programs, in English.
            if (source.file.startsWith(QStringLiteral("engine/eval/")) ||
                source.file.startsWith(QStringLiteral("engine/serve/")) || elsewhere.contains(source.file)) {
                continue;
            }
            for (const QString& literal : source.literals) {
                const bool known = others.contains(literal) || others.contains(u' ' + literal) ||
                                   std::any_of(listed.begin(), listed.end(), [&](const QString& text) {
                                       return text.contains(literal) || (u' ' + text).contains(literal);
                                   });
                if (!known && words.match(literal).hasMatch() && !noSentence.match(literal).hasMatch()) {
                    missing.append(source.file + QStringLiteral(": ") + literal);
                }
            }
        }
        QVERIFY2(missing.isEmpty(), qPrintable(missing.join(u'\n')));
    }

    // All the way from the engine to who listens: a load that fails.
    void failedLoad_isToldInTheWindowsLanguage() {
        const Speaks german(QStringLiteral("de"));
        EngineController controller([] { return engine::Session::create(); });
        EventLog log;
        log.follow(controller);
        QSignalSpy failed(&controller, &EngineController::loadFailed);
        engine::LoadRequest request;
        request.model = m_folder.filePath(QStringLiteral("none")).toStdString();
        controller.openModel(request);
        QTRY_COMPARE(failed.size(), 1);
        const auto failure = failed.first().at(1).value<EngineFailure>();
        QCOMPARE(failure.kind, engine::ErrorKind::kNotFound);
        const QString none = m_folder.filePath(QStringLiteral("none"));
        const QString said =
            QStringLiteral("Unter %1 ist kein Modell; erwartet: eine GGUF-Datei oder ein Ordner mit config.json.")
                .arg(none);
        QCOMPARE(failure.sentence, said);
        QCOMPARE(log.at(log.size() - 1).text, none + QStringLiteral(": ") + said);
    }

    void progressOfALoad_isToldInTheWindowsLanguage() {
        const Speaks german(QStringLiteral("de"));
        LoadBanner banner;
        banner.start(QStringLiteral("/models/a"));
        banner.setProgress({"Packing weights", 0, 0});
        const auto labels = banner.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->text() == QStringLiteral("Gewichte werden gepackt");
        }));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestEngineText)
#include "tst_engine_text.moc"
