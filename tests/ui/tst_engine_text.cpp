// The engine's messages come to the window as codes and arguments, and are shown in its
// language: the catalogues and their translations, real errors of the real engine, and
// the path from one to the other.

#include <algorithm>
#include <functional>
#include <iterator>
#include <type_traits>

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QLabel>
#include <QRegularExpression>
#include <QSet>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTranslator>

#include "engine/base_messages.h"
#include "engine/cluster/cluster_messages.h"
#include "engine/cluster/node_messages.h"
#include "engine/device/device_messages.h"
#include "engine/device/hardware_profile.h"
#include "engine/dispatch/dispatch_messages.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/experts/experts_messages.h"
#include "engine/files/files_messages.h"
#include "engine/hub/hub_messages.h"
#include "engine/model/model_messages.h"
#include "engine/nodes/nodes_messages.h"
#include "engine/plan/plan_messages.h"
#include "engine/quant/quant_messages.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/run_messages.h"
#include "engine/run/session.h"
#include "engine/serve/serve_messages.h"
#include "engine/telemetry/telemetry_messages.h"
#include "engine/text/chat_template.h"
#include "engine/text/text_messages.h"
#include "tests/ui/window_fixture.h"
#include "ui/base/language.h"
#include "ui/chat/load_banner.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"
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

engine::Message messageOf(const std::function<void()>& fails) {
    try {
        fails();
    } catch (const engine::Error& error) {
        return error.message();
    }
    return {};
}

bool write(const QString& path, const QByteArray& content) {
    QFile file(path);
    return QDir().mkpath(QFileInfo(path).path()) && file.open(QIODevice::WriteOnly) &&
           file.write(content) == content.size();
}

engine::Message fitProblem(const QString& model,
                           engine::FitEstimator::Text text = engine::FitEstimator::Text::kNotNeeded) {
    return messageOf([&] { engine::FitEstimator(model.toStdString(), text); });
}

// English words that are not German or Vietnamese, outside of quotes and of paths.
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

// A line of a catalogue.
struct Entry {
    const engine::MessageTemplate* of;
    bool isTranslated;
};

namespace messages = engine::messages;
#undef OFFSTAGE_MESSAGE
#undef OFFSTAGE_COMMAND_MESSAGE
#undef OFFSTAGE_FRAME
#define OFFSTAGE_MESSAGE(code, english) {&messages::code, true},
#define OFFSTAGE_COMMAND_MESSAGE(code, english) {&messages::code, false},
#define OFFSTAGE_FRAME(code, english) {&messages::code, false},
const Entry kCatalogue[] = {
#include "engine/base_messages.def"
#include "engine/cluster/cluster_messages.def"
#include "engine/cluster/node_messages.def"
#include "engine/device/device_messages.def"
#include "engine/dispatch/dispatch_messages.def"
#include "engine/eval/eval_messages.def"
#include "engine/experts/experts_messages.def"
#include "engine/files/files_messages.def"
#include "engine/hub/hub_messages.def"
#include "engine/model/model_messages.def"
#include "engine/nodes/nodes_messages.def"
#include "engine/plan/plan_messages.def"
#include "engine/quant/quant_messages.def"
#include "engine/run/run_messages.def"
#include "engine/serve/serve_messages.def"
#include "engine/telemetry/telemetry_messages.def"
#include "engine/text/text_messages.def"
};

// An Error has a code: a sentence written at the throw does not compile.
static_assert(!std::is_constructible_v<engine::Error, engine::ErrorKind, const char*>);
static_assert(!std::is_constructible_v<engine::Error, engine::ErrorKind, std::string>);
static_assert(!std::is_constructible_v<engine::Message, const char*>);
static_assert(!std::is_constructible_v<engine::Message, std::string>);
// A code takes as many arguments as its template has places.
static_assert(!std::is_invocable_v<decltype(messages::no_such_expert), int, int>);
static_assert(std::is_invocable_v<decltype(messages::no_such_expert), int, int, int, int>);

}  // namespace

class TestEngineText : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    // A model's folder with the demo model's files, some of them replaced.
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
        speak(*qApp, QStringLiteral("en"));  // which loads the catalogues
    }

    void english_isTheCataloguesText() {
        QCOMPARE(engineText(messages::no_model_loaded), QStringLiteral("No model is loaded; open one first."));
        QCOMPARE(engineText(engine::Message()), QString());
    }

    void message_isSaidInBothLanguages_data() {
        QTest::addColumn<engine::Message>("message");
        QTest::addColumn<QString>("english");
        QTest::addColumn<QString>("german");
        QTest::addColumn<QString>("vietnamese");
        const auto row = [](const char* name, const engine::Message& message, const char* english, const char* german,
                            const char* vietnamese) {
            QTest::newRow(name) << message << QString::fromUtf8(english) << QString::fromUtf8(german)
                                << QString::fromUtf8(vietnamese);
        };
        row("without arguments", messages::no_model_loaded, "No model is loaded; open one first.",
            "Es ist kein Modell geladen; bitte zuerst eines öffnen.",
            "Chưa nạp mô hình nào; hãy mở một mô hình trước.");
        row("arguments in another order", messages::no_such_expert(9, 3, 4, 8),
            "There is no expert 9 in layer 3 of the loaded model; it has 4 layers of 8.",
            "In Schicht 3 des geladenen Modells gibt es keinen Experten 9; es hat 4 Schichten mit je 8.",
            "Không có chuyên gia 9 ở lớp 3 của mô hình đã nạp; mô hình có 4 lớp, mỗi lớp 8.");
        row("sizes", messages::budget_below_use(engine::ByteSize{1610612736}, "RAM", engine::ByteSize{1932735283}),
            "A budget of 1.5 GiB is too small for RAM: 1.8 GiB are in use.",
            "Ein Budget von 1,5 GiB ist zu klein für RAM: 1,8 GiB sind belegt.",
            "Hạn mức 1,5 GiB quá nhỏ cho RAM: đang dùng 1,8 GiB.");
        row("a count above the largest signed one", messages::has_a_dimension_of("x", ~std::uint64_t{0}),
            "x has a dimension of 18446744073709551615", "x hat eine Dimension von 18.446.744.073.709.551.615",
            "x có một chiều bằng 18.446.744.073.709.551.615");
        row("a message in another",
            messages::no_room_for_copies("Tesla T4",
                                         messages::no_room("Tesla T4", messages::an_expert, engine::ByteSize{5557453},
                                                           engine::ByteSize{1 << 20}, engine::ByteSize{64 << 20})),
            "Tesla T4 has no room for copies on demand: Tesla T4 has no room for an expert: 5.3 MiB were asked for, "
            "1.0 MiB are left of the budget of 64.0 MiB.",
            "Tesla T4 hat keinen Platz für Kopien bei Bedarf: Tesla T4 hat keinen Platz für: ein Experte. Angefordert: "
            "5,3 MiB; vom Budget von 64,0 MiB sind noch 1,0 MiB übrig.",
            "Tesla T4 không còn chỗ cho các bản sao khi cần: Tesla T4 không còn chỗ cho một chuyên gia: yêu cầu "
            "5,3 MiB, còn lại 1,0 MiB trong hạn mức 64,0 MiB.");
        row("sentences that follow one another",
            joined(messages::short_memory_small_steps(64), messages::ram_short_disk(1200)),
            "Memory is short: prompts are read in steps of 64 tokens. RAM is short: 1200 experts are read from disk "
            "whenever they are needed.",
            "Der Speicher ist knapp: Prompts werden in Schritten von 64 Tokens gelesen. RAM ist knapp: 1.200 Experten "
            "werden bei jedem Bedarf vom Datenträger gelesen.",
            "Thiếu bộ nhớ: lời nhắc được đọc theo từng bước 64 token. Thiếu RAM: 1.200 chuyên gia được đọc từ đĩa mỗi "
            "khi "
            "cần.");
        row("behind the device's name", messages::of_device("NVIDIA H200", messages::gpu_answers_no_more("lost")),
            "NVIDIA H200: The GPU answers no more: lost. Offstage has to be started again.",
            "NVIDIA H200: Die GPU antwortet nicht mehr: lost. Offstage muss neu gestartet werden.",
            "NVIDIA H200: GPU không còn phản hồi: lost. Cần khởi động lại Offstage.");
        row("a path that looks like a sentence", messages::profile_too_large("/Dr. Who: a list of 5"),
            "/Dr. Who: a list of 5: larger than 1 MiB; expected a hardware profile",
            "/Dr. Who: a list of 5: größer als 1 MiB; erwartet: ein Hardwareprofil",
            "/Dr. Who: a list of 5: lớn hơn 1 MiB; cần một hồ sơ phần cứng");
        row("a path that looks like a place", messages::profile_too_large("/%1/%2"),
            "/%1/%2: larger than 1 MiB; expected a hardware profile",
            "/%1/%2: größer als 1 MiB; erwartet: ein Hardwareprofil", "/%1/%2: lớn hơn 1 MiB; cần một hồ sơ phần cứng");
        row("a choice of the dispatcher",
            messages::choice_kept(messages::speculative_loading, engine::Decimal{5.25, 2}, engine::Decimal{6.1, 2},
                                  messages::no_speculative_loading, 48),
            "speculative loading is kept: 5.25 ms per token against 6.10 with no speculative loading (48 tokens each)",
            "„spekulatives Laden“ bleibt: 5,25 ms je Token gegenüber 6,10 ms bei „kein spekulatives Laden“ (je 48 "
            "Tokens)",
            "Giữ nạp phỏng đoán: 5,25 ms mỗi token so với 6,10 ms với không nạp phỏng đoán (mỗi bên 48 token)");
        row("words from outside", engine::from_outside("a template's own words: 5 %1"), "a template's own words: 5 %1",
            "a template's own words: 5 %1", "a template's own words: 5 %1");
    }
    void message_isSaidInBothLanguages() {
        QFETCH(engine::Message, message);
        QFETCH(QString, english);
        QFETCH(QString, german);
        QFETCH(QString, vietnamese);
        QCOMPARE(QString::fromStdString(message.english()), english);
        QCOMPARE(engineText(message), english);
        {
            const Speaks de(QStringLiteral("de"));
            QVERIFY(de.works());
            QCOMPARE(engineText(message), german);
        }
        const Speaks vi(QStringLiteral("vi"));
        QVERIFY(vi.works());
        QCOMPARE(engineText(message), vietnamese);
    }

    // The engine's real sentences: for each the parts that must not change.
    void realSentence_comesOutWhole_data() {
        QTest::addColumn<engine::Message>("message");
        QTest::addColumn<QStringList>("parts");
        const auto row = [](const char* name, const engine::Message& message, const QStringList& parts) {
            QTest::newRow(name) << message << parts;
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
        weights("a cut header", QByteArray("\xff\0\0\0\0\0\0\0{", 9), QStringLiteral("263"));
        weights("no object", header("[]"), QStringLiteral("{"));
        weights("a tensor without a type", header(R"({"x": {"shape": [1], "data_offsets": [0, 2]}})"),
                QStringLiteral("\"x\""));
        weights("an unknown type", header(R"({"x": {"dtype": "Q9", "shape": [1], "data_offsets": [0, 2]}})"),
                QStringLiteral("\"Q9\""));
        weights("another tensor",
                header(R"({"x": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}})") + QByteArray(2, '\0'),
                QStringLiteral("model.layers.0"));
        weights("bytes too few", header(R"({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}})"),
                QStringLiteral("74"));

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
            row(name, messageOf([&] {
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
            const engine::Message refused =
                messageOf([&] { found = engine::FitEstimator(request.model).estimate(request); });
            row(name, refused.empty() ? found.problem : refused, parts);
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
        estimate("RAM too large", {QStringLiteral("RAM")});
        request.ram_bytes = 1 << 20;
        estimate("RAM too small", {QStringLiteral("MiB"), QStringLiteral("RAM")});
        request.ram_bytes = 0;
        request.model = "synthetic:mixtral-mini?colour=blue";
        estimate("an unknown option", {QStringLiteral("\"colour\"")});
        request.model = "synthetic:cricket";
        estimate("no such synthetic model", {QStringLiteral("\"cricket\"")});

        row("a key of no profile",
            messageOf([] { static_cast<void>(engine::parse_hardware_profile(R"({"colour": 1})", "/tmp/own.json")); }),
            {QStringLiteral("/tmp/own.json"), QStringLiteral("\"colour\"")});

        const auto session = engine::Session::create();
        row("nothing is loaded", messageOf([&] { session->generate({}, {}, {}); }), {});
        engine::LoadRequest demo;
        demo.model = kDemo.toStdString();
        demo.n_threads = 1;
        demo.context = 256;
        demo.cache_directory = demo.quant_cache_directory = m_folder.filePath(QStringLiteral("cache")).toStdString();
        session->load(demo, {}, {});
        engine::GenerationRequest prompt;
        prompt.raw = true;
        row("no prompt", messageOf([&] { session->generate(prompt, {}, {}); }), {});
        for (int i = 0; i < 400; ++i) {
            prompt.raw_prompt += "Once upon a time ";
        }
        row("a prompt too long", messageOf([&] { session->generate(prompt, {}, {}); }), {QStringLiteral("256")});
        prompt.raw_prompt = "Once";
        prompt.sampler.temperature = -1;
        row("a temperature", messageOf([&] { session->generate(prompt, {}, {}); }), {QStringLiteral("temperature")});
        prompt.sampler.temperature = 1;
        prompt.beam.width = 1000;
        row("a beam", messageOf([&] { session->generate(prompt, {}, {}); }), {QStringLiteral("16")});
        engine::ReplanRequest change;
        change.ram_bytes = 1 << 20;
        row("a change too small", messageOf([&] { static_cast<void>(session->preview(change)); }),
            {QStringLiteral("RAM")});
        change = {};
        change.vram_bytes = 1 << 20;
        row("a change of nothing", messageOf([&] { static_cast<void>(session->preview(change)); }),
            {QStringLiteral("VRAM")});
        row("no such expert", messageOf([&] {
                session->change_experts({engine::ExpertChange::Kind::kPin, {{0, 999}}});
            }),
            {QStringLiteral("999")});
    }
    void realSentence_comesOutWhole() {
        QFETCH(engine::Message, message);
        QFETCH(QStringList, parts);
        const QString english = QString::fromStdString(message.english());
        QVERIFY(!english.isEmpty());
        QVERIFY2(!englishIn(english).isEmpty(), qPrintable(english));
        for (const char* code : {"de", "vi"}) {
            const Speaks language{QLatin1String(code)};
            QVERIFY(language.works());
            const QString said = engineText(message);
            QVERIFY2(said != english, qPrintable(english));
            QVERIFY2(englishIn(said).isEmpty(), qPrintable(english + u'\n' + said));
            for (const QString& part : parts) {
                QVERIFY2(english.contains(part), qPrintable(english + u'\n' + part));
                QVERIFY2(said.contains(part), qPrintable(said + u'\n' + part));
            }
        }
    }

    // A template whose places are not %1, %2 ... does not compile; this checks the
    // translations.
    void everyCode_isTranslated_data() {
        QTest::addColumn<QString>("language");
        QTest::newRow("German") << QStringLiteral("de");
        QTest::newRow("Vietnamese") << QStringLiteral("vi");
    }
    void everyCode_isTranslated() {
        QFETCH(QString, language);
        const Speaks speaks(language);
        QVERIFY(speaks.works());
        const auto placesIn = [](const QString& text) {
            QSet<QString> places;
            for (auto match = place().globalMatch(text); match.hasNext();) {
                places.insert(match.next().captured());
            }
            return places;
        };
        QSet<QString> codes;
        for (const Entry& entry : kCatalogue) {
            const QString code = QString::fromUtf8(entry.of->code);
            QVERIFY2(!codes.contains(code), entry.of->code);
            codes.insert(code);
            const QString translation = speaks.translator().translate("EngineText", entry.of->english, entry.of->code);
            QVERIFY2(translation.isEmpty() != entry.isTranslated, entry.of->code);
            if (entry.isTranslated) {
                QCOMPARE(placesIn(translation), placesIn(QString::fromUtf8(entry.of->english)));
            }
        }
        QVERIFY(codes.size() > 600);
    }

    // The list above is complete, and no code or free text is elsewhere.
    void codes_standInCataloguesAlone() {
        QStringList catalogues;
        // Faults injected by tests have no code of ours, nor have messages that quote
        // other programs.
        static const QRegularExpression code(
            QStringLiteral("OFFSTAGE_(MESSAGE|COMMAND_MESSAGE|FRAME)\\(|MessageCode<[^>]*>\\s*\\w+\\s*[{=]|"
                           "from_outside\\(\\s*\"(?![^\"]*injected|A copy to or from)"));
        for (const char* folder : {"engine", "app", "ui"}) {
            QDirIterator files(QStringLiteral(OFFSTAGE_SOURCE_DIR "/") + QLatin1String(folder),
                               {QStringLiteral("*.h"), QStringLiteral("*.cpp"), QStringLiteral("*.def")}, QDir::Files,
                               QDirIterator::Subdirectories);
            while (files.hasNext()) {
                QFile file(files.next());
                if (file.fileName().endsWith(QStringLiteral("_messages.def"))) {
                    catalogues << file.fileName();
                } else if (!file.fileName().endsWith(QStringLiteral("engine/message.h"))) {
                    QVERIFY(file.open(QIODevice::ReadOnly));
                    const auto found = code.match(QString::fromUtf8(file.readAll()));
                    QVERIFY2(!found.hasMatch(), qPrintable(file.fileName() + QStringLiteral(": ") + found.captured()));
                }
            }
        }
        qsizetype n = 0;
        for (const QString& path : catalogues) {
            if (path.contains(QStringLiteral("/app/"))) {
                continue;  // used only by commands
            }
            QFile file(path);
            QVERIFY(file.open(QIODevice::ReadOnly));
            n += QString::fromUtf8(file.readAll())
                     .count(QRegularExpression(QStringLiteral("^OFFSTAGE_"), QRegularExpression::MultilineOption));
        }
        QCOMPARE(n, static_cast<qsizetype>(std::size(kCatalogue)));
    }

    // From the engine to the listener: a load that fails.
    void failedLoad_isToldInTheWindowsLanguage() {
        const Speaks german(QStringLiteral("de"));
        EngineController controller([] { return engine::Session::create(); });
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
    }

    // Numbers are arguments: the window writes them as German does, logs as English does.
    void failedLoad_hasItsNumbersInTheWindowsLanguage() {
        const Speaks german(QStringLiteral("de"));
        EngineController controller([] { return engine::Session::create(); });
        QSignalSpy failed(&controller, &EngineController::loadFailed);
        engine::LoadRequest request;
        request.model = kDemo.toStdString();
        request.n_threads = 1;
        request.context = -1'000'000;
        controller.openModel(request);
        QTRY_COMPARE(failed.size(), 1);
        const auto failure = failed.first().at(1).value<EngineFailure>();
        QVERIFY(failure.message.is(messages::context_out_of_range));
        QVERIFY(failure.message.arguments().front() == engine::MessageArgument(-1'000'000));
        QVERIFY(failure.message.english().starts_with("The context is -1000000 tokens; expected 1 to "));
        QVERIFY2(failure.sentence.contains(QStringLiteral("-1.000.000")), qPrintable(failure.sentence));
        QVERIFY2(englishIn(failure.sentence).isEmpty(), qPrintable(failure.sentence));
    }

    void progressOfALoad_isToldInTheWindowsLanguage() {
        const Speaks german(QStringLiteral("de"));
        LoadBanner banner;
        banner.start(QStringLiteral("/models/a"));
        banner.setProgress({messages::packing_weights, 0, 0});
        const auto labels = banner.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->text() == QStringLiteral("Gewichte werden gepackt");
        }));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestEngineText)
#include "tst_engine_text.moc"
