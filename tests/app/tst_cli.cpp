// offstage-cli as called by a user or a script: exit status, stdout, stderr.

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryFile>
#include <QtTest>

#include "tests/app/cli_runner.h"
#include "tests/engine/mixed_gguf.h"

namespace {

using Outcome = offstage::test::CliOutcome;
using offstage::test::words;

const QString kTiny = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/models/grouped_f32");
const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");

Outcome run(const QStringList& arguments, const QByteArray& input = {}) {
    return offstage::test::runCli(arguments, input);
}

}  // namespace

class TestCli : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void usage_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("status");
        const auto row = [](const char* name, const char* arguments, int status) {
            QTest::newRow(name) << words(arguments) << status;
        };
        row("nothing", "", 2);
        row("help", "--help", 0);
        row("help of a command", "generate --help", 0);
        row("version", "--version", 0);
        row("unknown command", "sing", 2);
        row("unknown option", "info . --loud", 2);
        row("missing model", "generate --prompt x", 2);
        row("missing prompt", "generate --model x", 2);
        row("unknown compute", "logits --model x --tokens 1 --compute f64", 2);
        row("a server of nothing", "serve", 2);
        row("a server by name", "serve --model x --listen example.org:80", 2);
        row("a server for all pages", "serve --model x --allow-origin *", 2);
        row("no repeats", "bench --model x --repeat 0", 2);
        row("negative tokens", "generate --model x --prompt y --max-tokens -3", 2);
        row("two prompts", "generate --model x --prompt y --prompt-file z", 2);
        row("two forms of the answer", "generate --model x --prompt y --grammar a --json-schema b", 2);
        row("special tokens without --raw", "generate --model x --prompt y --special", 2);
        row("no size", "plan --model x --vram much", 2);
        row("no size of a cache", "plan --model x --neuron-cache much", 2);
        row("no policy among several", "bench --model x --scenario decode --compare static,sing", 2);
        row("no theta among several", "bench --model x --compare-thetas 0.1,0", 2);
        row("no share among several", "replay --trace x --residency 25%,120", 2);
        row("no network", "cluster --model x --network pigeons", 2);
    }
    void usage() {
        QFETCH(QStringList, arguments);
        QFETCH(int, status);
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, status);
        if (status == 2) {
            QVERIFY(!outcome.err.isEmpty());
            QVERIFY2(outcome.out.isEmpty(), outcome.out.constData());
        } else {
            QVERIFY(!outcome.out.isEmpty());
        }
    }

    // The manual's pages equal the declarations of the commands, and the server's tables
    // of fields; offstage-cli --options-page and --fields-page write them.
    void writtenPages_areInTheManual_data() {
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("page");
        QTest::newRow("options") << QStringLiteral("--options-page") << QStringLiteral("options.md");
        QTest::newRow("fields") << QStringLiteral("--fields-page") << QStringLiteral("server-fields.md");
    }
    void writtenPages_areInTheManual() {
        QFETCH(const QString, option);
        QFETCH(const QString, page);
        QFile file(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/help/en/") + page);
        QVERIFY(file.open(QFile::ReadOnly));
        QCOMPARE(run({option}).out, file.readAll());
    }

    void help_listsTheManual_printsItsPages_andNamesTheNearest() {
        const Outcome list = run({QStringLiteral("help")});
        QCOMPARE(list.status, 0);
        QStringList pages = QDir(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/help/en"))
                                .entryList({QStringLiteral("*.md")}, QDir::Files);
        QVERIFY(pages.removeOne(QStringLiteral("README.md")) && pages.size() > 20);
        for (const QString& page : pages) {
            const QString name = page.chopped(3);
            QVERIFY2(list.out.contains("\n  " + name.toUtf8() + " "), qPrintable(name));
            const Outcome printed = run({QStringLiteral("help"), page.size() % 2 == 0 ? page : name});
            QCOMPARE(printed.status, 0);
            QVERIFY2(printed.out.startsWith("# ") && printed.out.size() > 150, printed.out.constData());
            QVERIFY2(!printed.out.contains("](") && !printed.out.contains("<!--"), qPrintable(name));
        }
        QVERIFY(run({QStringLiteral("help"), QStringLiteral("budget")}).out.contains("Skipped neurons [neurons]"));
        const Outcome near = run({QStringLiteral("help"), QStringLiteral("modles")});
        QCOMPARE(near.status, 2);
        QCOMPARE(near.out, QByteArray());
        QCOMPARE(near.err, QByteArray("offstage-cli: \"modles\" is no subject of the manual; is models meant?\n"));
        const Outcome command = run({QStringLiteral("help"), QStringLiteral("generate")});
        QCOMPARE(command.status, 0);
        QVERIFY2(command.out.contains("offstage-cli generate --help lists its options"), command.out.constData());
        QCOMPARE(run({QStringLiteral("help"), QStringLiteral("xyzzy")}).err,
                 QByteArray("offstage-cli: \"xyzzy\" is no subject of the manual; offstage-cli help lists them\n"));
        qputenv("OFFSTAGE_RESOURCES", "/nowhere");
        const Outcome missing = run({QStringLiteral("help")});
        qunsetenv("OFFSTAGE_RESOURCES");
        QCOMPARE(missing.status, 1);
        QVERIFY2(missing.err.contains("/nowhere/help/en/README.md"), missing.err.constData());
    }

    void unknownCommand_isNamed_withThoseNearIt_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* arguments, const char* says) {
            QTest::newRow(arguments) << words(arguments) << QByteArray(says);
        };
        row("nosuch", "offstage-cli: \"nosuch\" is no command of offstage-cli; --help lists them\n");
        row("genrate --model x", "offstage-cli: \"genrate\" is no command of offstage-cli; is generate meant?\n");
        row("model", "offstage-cli: \"model\" is no command of offstage-cli; is models meant?\n");
        row("per", "offstage-cli: \"per\" is no command of offstage-cli; is perplexity meant?\n");
        row("nodes pare x", "offstage-cli: \"pare\" is no command of offstage-cli nodes; is pair meant?\n");
    }
    void unknownCommand_isNamed_withThoseNearIt() {
        QFETCH(QStringList, arguments);
        QFETCH(QByteArray, says);
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, 2);
        QCOMPARE(outcome.err, says);
    }

    void environment_thatIsEmpty_countsAsUnset() {
        const Outcome outcome = offstage::test::runInShell(
            QStringLiteral("OFFSTAGE_ISA= OFFSTAGE_THREADS= exec \"$0\" \"$@\""), words("info %1", {kDemo}));
        QVERIFY2(outcome.status == 0, outcome.err.constData());
    }

    // Otherwise a mistake in a variable would measure something else.
    void environment_thatNamesNothing_isRefused_data() {
        QTest::addColumn<QString>("variable");
        QTest::addColumn<QString>("says");
        QTest::newRow("instruction set")
            << QStringLiteral("OFFSTAGE_ISA=bogus")
            << QStringLiteral(
                   "bogus\"; expected one that this processor has and this Offstage was compiled for: scalar");
        QTest::newRow("threads") << QStringLiteral("OFFSTAGE_THREADS=many")
                                 << QStringLiteral("many\"; expected a number from 1 to 1024");
    }
    void environment_thatNamesNothing_isRefused() {
        QFETCH(QString, variable);
        QFETCH(QString, says);
        for (const QStringList& arguments : {words("generate --model %1 --prompt x", {kDemo}),
                                             words("info %1", {kDemo}), words("plan --model %1", {kDemo})}) {
            const Outcome outcome =
                offstage::test::runInShell(variable + QStringLiteral(" exec \"$0\" \"$@\""), arguments);
            QCOMPARE(outcome.status, 1);
            QVERIFY2(QString::fromUtf8(outcome.err).contains(says), outcome.err.constData());
        }
    }

    void wrongWords_areNamed_data() {
        QTest::addColumn<QString>("arguments");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("a number below 0") << QStringLiteral("generate --model a --prompt x --max-tokens -3")
                                          << QByteArray("--max-tokens: Value -3 is too small\n");
        QTest::newRow("an option misspelt, which is required")
            << QStringLiteral("plan --modle a") << QByteArray("--modle is no option here.\n--model is ");
        QTest::newRow("an option before the command")
            << QStringLiteral("--nosuch") << QByteArray("--nosuch is no option here.\n");
    }
    void wrongWords_areNamed() {
        QFETCH(QString, arguments);
        QFETCH(QByteArray, says);
        const Outcome outcome = run(arguments.split(u' '));
        QCOMPARE(outcome.status, 2);
        QVERIFY2(outcome.err.startsWith(says), outcome.err.constData());
    }

    void replanScript_saysWhatIsWrongInIt_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* line, const char* says) {
            QTest::newRow(line) << QByteArray(line) << QByteArray(says);
        };
        row(R"({"vram": "8GiB"})", R"("at_token" is missing)");
        row(R"({"at_token": 2, "vram": 3})", R"("vram" is 3; expected a text)");
        row(R"({"at_token": 2, "pin": [1]})", R"("pin" is a list of 1; expected [layer, expert])");
        row(R"({"at_token": 2, "min_bits": 0})", R"("min_bits" is 0; expected a number)");
        row(R"({"at_token": 2, "quant": "dense=8"})", "attention's matrices keep the format");
        row(R"({"at_token": 2, "size": 3})", R"(there is no "size"; expected at_token)");
        row("[1]", "expected a JSON object");
    }

    void replanScript_saysWhatIsWrongInIt() {
        QFETCH(const QByteArray, line);
        QFETCH(const QByteArray, says);
        QTemporaryFile script;
        QVERIFY(script.open());
        script.write("{\"at_token\": 1, \"pin\": [0, 1]}\n" + line + "\n");
        script.close();
        const Outcome outcome =
            run(words("generate --model %1 --prompt Hi --replan-script %2", {kDemo, script.fileName()}));
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains(script.fileName().toUtf8() + ", line 2: ") && outcome.err.contains(says),
                 outcome.err.constData());
    }

    void replanThatFails_saysSo() {
        QTemporaryFile script;
        QVERIFY(script.open());
        script.write("{\"at_token\": 1, \"vram\": \"24MiB\"}\n");
        script.close();
        const Outcome outcome =
            run(words("generate --model %1 --prompt Hi --max-tokens 4 --replan-script %2", {kDemo, script.fileName()}));
        QCOMPARE(outcome.status, 0);
        QVERIFY2(outcome.err.contains("failed: A VRAM budget was given, but the device is the CPU"),
                 outcome.err.constData());
    }

    // Before the answer begins.
    void replanScript_ofAnExpertThatIsNotThere_isRefused_data() {
        QTest::addColumn<QByteArray>("order");
        QTest::newRow("a layer too far") << QByteArray(R"("pin": [8, 0])");
        QTest::newRow("an expert too far") << QByteArray(R"("evict": [0, 8])");
        QTest::newRow("below 0") << QByteArray(R"("unpin": [0, -1])");
    }
    void replanScript_ofAnExpertThatIsNotThere_isRefused() {
        QFETCH(QByteArray, order);
        QTemporaryFile script;
        QVERIFY(script.open());
        script.write("{\"at_token\": 0, \"pin\": [7, 7]}\n{\"at_token\": 2, " + order + "}\n");
        script.close();
        const Outcome outcome =
            run(words("generate --model %1 --prompt Hi --max-tokens 4 --replan-script %2", {kDemo, script.fileName()}));
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.out.isEmpty(), outcome.out.constData());
        QVERIFY2(outcome.err.contains(script.fileName().toUtf8() + ", line 2: There is no expert "),
                 outcome.err.constData());
    }

    // What an order changed, in the figures of the CPU, and one that came too late.
    void replanScript_onTheCpu_isReported() {
        QTemporaryFile script;
        QVERIFY(script.open());
        script.write(
            "{\"at_token\": 1, \"quant\": \"experts=hqq4\", \"ram\": \"20MiB\"}\n{\"at_token\": 900, \"context\": "
            "64}\n");
        script.close();
        const Outcome outcome = run(words("generate --model %1 --prompt Hi --max-tokens 6 --json --replan-script %2",
                                          {kDemo, script.fileName()}));
        QCOMPARE(outcome.status, 0);
        const QJsonObject report = outcome.json();
        const QJsonArray replans = report[QLatin1String("replans")].toArray();
        QCOMPARE(replans.size(), 1);
        const QJsonObject replan = replans.first().toObject();
        QCOMPARE(replan[QLatin1String("state")].toString(), QStringLiteral("done"));
        QCOMPARE(replan[QLatin1String("vram_bytes")].toDouble(-1), 0.0);
        QCOMPARE(replan[QLatin1String("ram_bytes")].toDouble(), 20.0 * 1024 * 1024);
        QCOMPARE(replan[QLatin1String("resident_experts")].toInt(), 64);
        QCOMPARE(report[QLatin1String("resident_experts")].toInt(), 64);
        QCOMPARE(report[QLatin1String("mean_bits")].toDouble(), replan[QLatin1String("mean_bits")].toDouble());
        QVERIFY(!outcome.notes().isEmpty());
        const QString note = outcome.notes().last();
        QVERIFY2(
            note.contains(QStringLiteral(", line 2: nothing was changed at token 900, as the answer ended after ")),
            qPrintable(note));
    }

    void contextAndThreads_beyondWhatThereIs_areNoted() {
        const Outcome outcome =
            run(words("generate --model %1 --prompt Hi --max-tokens 1 --context 6000 --threads 1000 --json", {kDemo}));
        QCOMPARE(outcome.status, 0);
        const QString notes = outcome.notes().join(u'\n');
        QVERIFY2(notes.contains(QStringLiteral("The context is 6000 tokens, and the model was made for ")),
                 qPrintable(notes));
        QVERIFY2(notes.contains(QStringLiteral("1000 compute threads were asked for")), qPrintable(notes));
        const Outcome within =
            run(words("generate --model %1 --prompt Hi --max-tokens 1 --context 512 --threads 1 --json", {kDemo}));
        QCOMPARE(within.notes(), QStringList());
    }

    // The demo model without its template: the message, and giving it one.
    void modelWithoutAChatTemplate_canBeGivenOne() {
        const QTemporaryDir folder;
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.model", "special_tokens_map.json"}) {
            QVERIFY(QFile::link(kDemo + QLatin1Char('/') + QLatin1String(name), folder.filePath(QLatin1String(name))));
        }
        const QStringList generate = words("generate --model %1 --prompt Hi --max-tokens 1", {folder.path()});
        const Outcome without = run(generate);
        QCOMPARE(without.status, 1);
        QVERIFY2(without.err.contains("has no chat template. Give it one by --chat-template") &&
                     without.err.contains("chatml"),
                 without.err.constData());
        const Outcome chat = run(words("chat --model %1", {folder.path()}), "Hi\n");
        QCOMPARE(chat.status, 1);
        QVERIFY(chat.err.contains("has no chat template"));
        const QByteArray models = run(words("models --folder %1", {folder.path()})).out;
        QVERIFY2(models.contains("(no chat template that can be used: --chat-template)") &&
                     models.contains("yes, but needs a chat template"),
                 models.constData());
        // One that can be read and writes nothing.
        QFile unusable(folder.filePath(QStringLiteral("chat_template.jinja")));
        QVERIFY(unusable.open(QIODevice::WriteOnly) && unusable.write("{{ messages[0].content.swapcase() }}") > 0);
        unusable.close();
        QVERIFY(run(words("models --folder %1", {folder.path()})).out.contains("yes, but needs a chat template"));
        QVERIFY(unusable.remove());
        const QByteArray facts = run(words("info %1", {folder.path()})).out;
        QVERIFY2(facts.contains("chat template no") && facts.contains("Give it one by --chat-template"),
                 facts.constData());
        // What is said to fit can be asked something, or the remedy is said.
        const QStringList plan = words("plan --model %1 --json", {folder.path()});
        const QJsonObject planned = run(plan).json();
        QCOMPARE(planned[QLatin1String("chat_template")], QJsonValue(false));
        const QByteArray notes = QJsonDocument(planned[QLatin1String("notes")].toArray()).toJson();
        QVERIFY2(notes.contains("Give it one by --chat-template"), notes.constData());
        // One that cannot be read: the shapes are shown all the same.
        QFile damaged(folder.filePath(QStringLiteral("chat_template.jinja")));
        QVERIFY(damaged.open(QIODevice::WriteOnly) && damaged.write("{% for m in messages %}") > 0);
        damaged.close();
        const Outcome info = run(words("info %1", {folder.path()}));
        QCOMPARE(info.status, 0);
        QVERIFY2(info.out.contains("chat_template.jinja, line 1: the chat template"), info.out.constData());
        const Outcome listed = run(words("models --folder %1", {folder.path()}));
        QVERIFY2(listed.out.contains("chat_template.jinja, line 1: the chat template"), listed.out.constData());
        QVERIFY(damaged.remove());
        QCOMPARE(run(generate + words("--chat-template mixtral")).status, 0);
        const Outcome rendered =
            run(words("tokenize --model %1 --chat user:Hi --chat-template chatml --json", {folder.path()}));
        QCOMPARE(rendered.json()[QLatin1String("text")].toString(),
                 QStringLiteral("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"));
        QFile file(folder.filePath(QStringLiteral("ollama.tmpl")));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("[{{ .Prompt }}]{{ .Response }}") > 0);
        file.close();
        const Outcome ofAFile = run(
            words("tokenize --model %1 --chat user:Hi --chat-template %2 --json", {folder.path(), file.fileName()}));
        QVERIFY2(ofAFile.json()[QLatin1String("text")].toString().endsWith(QStringLiteral("[Hi]")),
                 ofAFile.out.constData());
        const Outcome unknown = run(generate + words("--chat-template chattml"));
        QCOMPARE(unknown.status, 1);
        QVERIFY2(unknown.err.contains("There is no chat template chattml") && unknown.err.contains("chatml, "),
                 unknown.err.constData());
    }

    // As a load of the same model renders the conversation.
    void tokenizeChat_hasTheSystemMessageOfOllama() {
        const QTemporaryDir home;
        const auto put = [&](const QString& name, const QByteArray& text) {
            QFile file(home.filePath(name));
            QVERIFY(QDir().mkpath(QFileInfo(file).path()) && file.open(QIODevice::WriteOnly));
            QCOMPARE(file.write(text), text.size());
        };
        const QString manifest = QStringLiteral("models/manifests/registry.ollama.ai/library/pirate/latest");
        QVERIFY(QDir().mkpath(home.filePath(QStringLiteral("models/blobs"))));
        offstage::tests::write_mixed_gguf(home.filePath(QStringLiteral("models/blobs/sha256-aa")).toStdString());
        put(QStringLiteral("models/blobs/sha256-bb"), "[{{ .System }}|{{ .Prompt }}]{{ .Response }}");
        put(QStringLiteral("models/blobs/sha256-cc"), "ABC");
        put(manifest, R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:aa"},
                                     {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:bb"},
                                     {"mediaType": "application/vnd.ollama.image.system", "digest": "sha256:cc"}]})");
        const auto text = [&](const QStringList& turns) {
            return run(words("tokenize --json --model %1 --chat", {home.filePath(manifest)}) + turns)
                .json()[QLatin1String("text")]
                .toString();
        };
        QVERIFY2(text({QStringLiteral("user:X")}).endsWith(QStringLiteral("[ABC|X]")),
                 qPrintable(text({QStringLiteral("user:X")})));
        QVERIFY(text({QStringLiteral("system:Y"), QStringLiteral("user:X")}).endsWith(QStringLiteral("[Y|X]")));
    }

    void prompt_comesFromAFile_orStandardInput() {
        const QTemporaryDir folder;
        QFile file(folder.filePath(QStringLiteral("prompt.txt")));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("One.\nTwo.\n") > 0);
        file.close();
        const QStringList base =
            words("generate --model %1 --max-tokens 2 --temperature 0 --compute f32 --json", {kDemo});
        const QJsonArray expected = run(base + QStringList{QStringLiteral("--prompt"), QStringLiteral("One.\nTwo.")})
                                        .json()[QLatin1String("tokens")]
                                        .toArray();
        QVERIFY(!expected.isEmpty());
        QCOMPARE(run(base + words("--prompt-file %1", {file.fileName()})).json()[QLatin1String("tokens")].toArray(),
                 expected);
        QCOMPARE(run(base + words("--prompt-file -"), "One.\nTwo.\n").json()[QLatin1String("tokens")].toArray(),
                 expected);
        QCOMPARE(run(base + words("--prompt -"), "One.\nTwo.").json()[QLatin1String("tokens")].toArray(), expected);
        const Outcome missing = run(base + words("--prompt-file /no/such/file"));
        QVERIFY2(missing.status == 1 && missing.err.contains("/no/such/file"), missing.err.constData());
    }

    void answer_hasTheFormOfAFile() {
        const QTemporaryDir folder;
        const auto file = [&](const char* name, const QByteArray& text) {
            QFile written(folder.filePath(QLatin1String(name)));
            return written.open(QIODevice::WriteOnly) && written.write(text) == text.size() ? written.fileName()
                                                                                            : QString();
        };
        const QStringList base =
            words("generate --model %1 --prompt Hi --temperature 1 --seed 3 --answers 2 --json", {kDemo});
        const auto texts = [](const Outcome& outcome) {
            QStringList all;
            for (const QJsonValue& answer : outcome.json()[QLatin1String("answers")].toArray())
                all << answer[QLatin1String("text")].toString();
            return all;
        };
        const QString schema = file("a.json", "{\"enum\": [\"red\", 7]}");
        const QStringList values = texts(run(base + words("--json-schema %1", {schema})));
        QCOMPARE(values.size(), 2);
        for (const QString& value : values)
            QVERIFY2(value == QLatin1String("\"red\"") || value == QLatin1String("7"), qPrintable(value));
        const QString grammar = file("a.gbnf", "root ::= \"yes\" | \"no\"\n");
        for (const QString& value : texts(run(base + words("--grammar %1", {grammar}))))
            QVERIFY2(value == QLatin1String("yes") || value == QLatin1String("no"), qPrintable(value));
        for (const QStringList& wrong : {words("--json-schema %1", {grammar}), words("--grammar %1", {schema})}) {
            const Outcome refused = run(base + wrong);
            QCOMPARE(refused.status, 1);
            QVERIFY2(refused.err.contains(wrong.last().toUtf8()), refused.err.constData());
        }
    }

    // A raw prompt that is written like the template's is the template's with --special.
    void rawPrompt_withSpecialTokens_isThatOfTheTemplate() {
        const QStringList base =
            words("generate --model %1 --max-tokens 4 --temperature 0 --compute f32 --threads 1 --json", {kDemo});
        const QJsonObject chat =
            run(base + words("--system %1 --prompt %2", {QStringLiteral("Be brief."), QStringLiteral("Hi: you")}))
                .json();
        const QStringList raw =
            base +
            words("--raw --prompt %1", {QStringLiteral("<s><|system|>Be brief.</s><|user|>Hi: you</s><|assistant|>")});
        const QJsonObject special = run(raw + words("--special")).json();
        QCOMPARE(special[QLatin1String("prompt_tokens")].toInt(), 15);
        QCOMPARE(special[QLatin1String("prompt_tokens")], chat[QLatin1String("prompt_tokens")]);
        QCOMPARE(special[QLatin1String("tokens")].toArray().size(), 4);
        QCOMPARE(special[QLatin1String("tokens")], chat[QLatin1String("tokens")]);
        QCOMPARE(run(raw).json()[QLatin1String("prompt_tokens")].toInt(), 43);  // the markers as text
        const Outcome alone = run(base + words("--prompt Hi --special"));
        QVERIFY2(alone.status == 2 && alone.err.contains("--special requires --raw"), alone.err.constData());
    }

    void sampling_isAsTheModelsPublisherAdvises_whereNothingIsChosen() {
        const QTemporaryDir folder;
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.model", "tokenizer_config.json",
                                 "special_tokens_map.json"}) {
            QVERIFY(QFile::link(kDemo + QLatin1Char('/') + QLatin1String(name), folder.filePath(QLatin1String(name))));
        }
        QFile file(folder.filePath(QStringLiteral("generation_config.json")));
        QVERIFY(file.open(QIODevice::WriteOnly) &&
                file.write("{\"do_sample\": true, \"temperature\": 0.25, \"top_k\": 9}") > 0);
        file.close();
        const Outcome outcome =
            run(words("generate --model %1 --prompt Hi --max-tokens 1 --top-k 40 --json", {folder.path()}));
        const QJsonObject sampler = outcome.json()[QLatin1String("sampler")].toObject();
        QCOMPARE(sampler[QLatin1String("temperature")].toDouble(), 0.25);
        QCOMPARE(sampler[QLatin1String("top_k")].toInt(), 40);
        QVERIFY(outcome.notes().value(0).contains(QStringLiteral("temperature 0.25")));
    }

    void failure_isOneLineOnStderr_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const QStringList& arguments, const char* says) {
            QTest::newRow(name) << arguments << QString::fromLatin1(says);
        };
        row("no such path", {QStringLiteral("info"), QStringLiteral("/no/such/model")}, "/no/such/model");
        row("no such path in generate", words("generate --model /no/such/model --prompt x"), "/no/such/model");
        row("unknown synthetic", {QStringLiteral("info"), QStringLiteral("synthetic:giant")}, "mixtral-mini");
        row("a file that is no model", {QStringLiteral("info"), QStringLiteral(OFFSTAGE_SOURCE_DIR "/LICENSE")},
            "LICENSE");
        // Said before anything is planned or read: the weights would not fit.
        const char* const mute = "has no tokenizer, so it cannot read or write text";
        row("an answer of a model without tokenizer",
            words("generate --model synthetic:mixtral-mini --prompt x --ram 1MiB"), mute);
        row("a text for a model without tokenizer",
            words("profile --model synthetic:mixtral-mini --ram 1MiB --out x.json --text " OFFSTAGE_SOURCE_DIR
                  "/LICENSE"),
            mute);
        row("no tokenizer", words("generate --model %1 --prompt x", {kTiny}), "tokenizer.model");
        row("words for tokens", words("logits --model %1 --tokens 1,two", {kTiny}), "two");
        row("a token outside the vocabulary", words("logits --model %1 --tokens 48", {kTiny}), "0 to 47");
        row("bench longer than the context", words("bench --model %1 --prompt 60 --decode 10", {kTiny}), "70");
        row("an absurd context", words("generate --model %1 --prompt x --context 4611686018427387904", {kDemo}),
            "1 to 16777216");
        row("a temperature below zero", words("generate --model %1 --prompt x --temperature -1", {kDemo}),
            "temperature");
        row("a prompt longer than the context",
            words("generate --model %1 --prompt %2", {kDemo, QStringLiteral("word ").repeated(3000)}), "context");
    }
    void failure_isOneLineOnStderr() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const Outcome outcome = run(arguments);
        QCOMPARE(outcome.status, 1);
        QCOMPARE(outcome.out, QByteArray());
        QVERIFY2(outcome.err.endsWith('\n') && outcome.err.count('\n') == 1, outcome.err.constData());
        QVERIFY2(QString::fromUtf8(outcome.err).contains(says), outcome.err.constData());
    }

    void promptThatIsNotUtf8_saysSo() {
        QProcess process;
        // A QString cannot hold such bytes, so the shell passes them on.
        process.start(QStringLiteral("sh"),
                      {QStringLiteral("-c"),
                       QStringLiteral("exec \"$0\" generate --model \"$1\" --prompt \"$(printf 'a\\377b')\""),
                       QStringLiteral(OFFSTAGE_BIN_DIR "/offstage-cli"), kDemo});
        QVERIFY(process.waitForFinished(120'000));
        QCOMPARE(process.exitCode(), 1);
        QVERIFY(process.readAllStandardError().contains("UTF-8"));
    }

    void info_saysWhatOfAFileIsNotUsed() {
        const QString model = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/models/gemma4_bf16");
        const Outcome text = run({QStringLiteral("info"), model});
        QVERIFY2(text.out.contains("  not used       vision tower: 3 tensors, 192 bytes, "
                                   "\"model.embed_vision.embedding_projection.weight\" ...\n"),
                 text.out.constData());
        const QJsonArray unused =
            run(words("info %1 --json", {model})).json()[QLatin1String("unused_tensors")].toArray();
        QCOMPARE(unused.size(), 1);
        QCOMPARE(unused[0][QLatin1String("part")].toString(), QStringLiteral("vision tower"));
        QCOMPARE(unused[0][QLatin1String("tensors")].toInt(), 3);
        QCOMPARE(unused[0][QLatin1String("bytes")].toInt(), 192);
        QVERIFY(!run({QStringLiteral("info"), kTiny}).out.contains("not used"));
    }

    // A GGUF file by its path; what each part of it is in.
    void info_ofAGguf_saysTypesByRole() {
        const QString file = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/gguf/gpt_oss_mxfp4.gguf");
        const Outcome text = run({QStringLiteral("info"), file});
        QCOMPARE(text.status, 0);
        QVERIFY2(text.out.contains("gpt_oss_mxfp4: GptOssForCausalLM, MXFP4"), text.out.constData());
        QVERIFY2(text.out.contains("experts, down: 3 x MXFP4"), text.out.constData());
        QVERIFY2(text.out.contains("attention, output: 3 x BF16"), text.out.constData());
        const QJsonArray roles = run(words("info %1 --json", {file})).json()[QLatin1String("tensor_types")].toArray();
        QCOMPARE(roles.first()[QLatin1String("role")].toString(), QStringLiteral("embedding"));
        const QJsonObject biases = roles.last()[QLatin1String("types")].toArray().first().toObject();
        QCOMPARE(roles.last()[QLatin1String("role")].toString(), QStringLiteral("experts, biases"));
        QCOMPARE(biases[QLatin1String("tensors")].toInt(), 9);
    }

    // The rows of the tables for the file's weights; all rows as JSON.
    void info_saysWhichKernelMultipliesWhat() {
        const QString file = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/gguf/gpt_oss_mxfp4.gguf");
        const Outcome text = run({QStringLiteral("info"), file});
        QVERIFY2(text.out.contains("rows: 1, inputs: float: matvec (kernels/cpu/matvec_simd.cpp)\n"),
                 text.out.constData());
        QVERIFY2(text.out.contains(", rows of w2 are outputs: all experts matrix by matrix, in two jobs "),
                 text.out.constData());
        QVERIFY(!text.out.contains(", INT8, rows"));
        const QJsonObject kernels = run(words("info %1 --json", {file})).json()[QLatin1String("kernels")].toObject();
        const QJsonObject few = kernels[QLatin1String("cuda")].toArray().first().toObject();
        QCOMPARE(few[QLatin1String("weights")].toString(), QStringLiteral("GGUF's blocks"));
        QCOMPARE(few[QLatin1String("most_rows")].toInt(), 8);
        QCOMPARE(few[QLatin1String("file")].toString(), QStringLiteral("kernels/cuda/byte_products.cu"));
        QVERIFY(kernels[QLatin1String("cpu")].toArray().first()[QLatin1String("here")].isBool());
    }

    // A GPU has a choice of products; a device emulated on the CPU has none.
    void info_ofADevice_saysHowItFormsProducts() {
        const QString file = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/gguf/gpt_oss_mxfp4.gguf");
        QVERIFY(!run({QStringLiteral("info"), file}).out.contains("products there"));
        const QStringList emulated = words("info %1 --device emulated:t4", {file});
        const Outcome text = run(emulated);
        QVERIFY2(text.out.contains("  products there Tesla T4 (emulated): as on the CPU\n"), text.out.constData());
        const QJsonObject device = run(emulated + words("--json")).json()[QLatin1String("device")].toObject();
        QCOMPARE(device[QLatin1String("device")].toString(), QStringLiteral("Tesla T4 (emulated)"));
        QVERIFY(device[QLatin1String("types")].isArray());
        const Outcome none = run(words("info %1 --device emulated:abacus", {file}));
        QCOMPARE(none.status, 1);
        QVERIFY2(none.err.contains("abacus"), none.err.constData());
    }

    void info_json_hasTheShapes() {
        const Outcome outcome = run(words("info %1 --json", {kTiny}));
        QCOMPARE(outcome.status, 0);
        const QJsonObject json = outcome.json();
        QCOMPARE(json[QLatin1String("architecture")].toString(), QStringLiteral("MixtralForCausalLM"));
        QCOMPARE(json[QLatin1String("n_layers")].toInt(), 3);
        QCOMPARE(json[QLatin1String("n_experts")].toInt(), 4);
        QCOMPARE(json[QLatin1String("weight_type")].toString(), QStringLiteral("F32"));
        QCOMPARE(json[QLatin1String("tokenizer")].toBool(true), false);
        QVERIFY(json[QLatin1String("hardware")][QLatin1String("cores")].toInt() >= 1);
        QVERIFY(json[QLatin1String("hardware")][QLatin1String("ram_total_bytes")].toDouble() > 0);
        // A file in the folder names the model too.
        const QJsonObject same = run(words("info %1 --json", {kTiny + QStringLiteral("/config.json")})).json();
        QCOMPARE(same[QLatin1String("weight_bytes")], json[QLatin1String("weight_bytes")]);
        QCOMPARE(same[QLatin1String("name")], json[QLatin1String("name")]);
    }

    void logits_json_isOneRow_allIsOnePerToken() {
        const QStringList base = words("logits --model %1 --tokens 5,6,7 --json", {kTiny});
        const Outcome last = run(base);
        const Outcome all = run(base + words("--all"));
        QCOMPARE(last.status, 0);
        QCOMPARE(last.err, QByteArray());
        const QJsonArray rows = all.json()[QLatin1String("logits")].toArray();
        QCOMPARE(rows.size(), 3);
        QCOMPARE(rows[2].toArray().size(), 48);
        const QJsonArray only = last.json()[QLatin1String("logits")].toArray();
        QCOMPARE(only.size(), 1);
        for (int i = 0; i < 48; ++i) QVERIFY(qAbs(only[0][i].toDouble() - rows[2][i].toDouble()) < 1e-4);
    }

    // The model was made for 64 tokens.
    void logits_beyondTheTrainedContext_comeWithANote() {
        QString tokens = QStringLiteral("5");
        for (int i = 0; i < 64; ++i) tokens += QStringLiteral(",6");
        const Outcome beyond = run(words("logits --all --json --model %1 --tokens %2", {kTiny, tokens}));
        QCOMPARE(beyond.status, 0);
        QCOMPARE(beyond.json()[QLatin1String("logits")].toArray().size(), 65);
        QVERIFY2(beyond.err.contains("made for 64"), beyond.err.constData());
    }

    void tokenize_json_hasIdsPiecesAndTheRenderedPrompt() {
        const QString layouts = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/text/bpe_layouts/");
        const auto tokenize = [](const QStringList& arguments, const QByteArray& input = {}) {
            return run(words("tokenize --json --model") + arguments, input);
        };
        const auto piecesOf = [](const Outcome& outcome) {
            QStringList pieces;
            for (const auto& token : outcome.json()[QStringLiteral("tokens")].toArray()) {
                pieces << token.toObject()[QStringLiteral("piece")].toString();
            }
            return pieces.join(QLatin1Char('|'));
        };
        const Outcome text = tokenize({layouts + QStringLiteral("qwen")}, "the <|im_end|> the");
        QCOMPARE(text.status, 0);
        QCOMPARE(text.json()[QStringLiteral("text")].toString(), QStringLiteral("the <|im_end|> the"));
        QVERIFY2(!piecesOf(text).contains(QStringLiteral("<|im_end|>")), qPrintable(piecesOf(text)));
        const Outcome special =
            tokenize({layouts + QStringLiteral("qwen"), QStringLiteral("--special")}, "the <|im_end|> the");
        QVERIFY2(piecesOf(special).endsWith(QStringLiteral("|<|im_end|>|\u0120the")), qPrintable(piecesOf(special)));

        const QString rendered = QStringLiteral("<s><|system|>Be brief.</s><|user|>Hi: you</s><|assistant|>");
        const Outcome chat = tokenize(words(
            "%1 --chat %2 --chat %3", {kDemo, QStringLiteral("system:Be brief."), QStringLiteral("user:Hi: you")}));
        QCOMPARE(chat.json()[QStringLiteral("text")].toString(), rendered);
        QVERIFY(piecesOf(chat).startsWith(QStringLiteral("<s>|<|system|>|")));
        const Outcome fromInput =
            tokenize(words("%1 --chat -", {kDemo}),
                     R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi: you"}])");
        QCOMPARE(fromInput.out, chat.out);
        const Outcome parts = tokenize(
            words("%1 --chat -", {kDemo}),
            R"([{"role": "system", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
                {"role": "user", "content": "Hi: you"}])");
        QCOMPARE(parts.out, chat.out);
        for (const char* content : {"[{\"type\": \"image_url\"}]", "[1]", "[{\"type\": \"text\"}]", "1"}) {
            const Outcome refused = tokenize(words("%1 --chat -", {kDemo}),
                                             QByteArray("[{\"role\": \"user\", \"content\": ") + content + "}]");
            QVERIFY2(refused.err.contains("standard input: the field [0].content"), refused.err.constData());
        }
        QCOMPARE(tokenize(words("%1 --chat judge:Hi", {kDemo})).status, 1);
        QVERIFY(tokenize(words("%1 --chat -", {kDemo}), "[1]").err.contains("standard input"));
    }

    // An accounted speed is divided by accounted limits, never by this machine's.
    void bench_onAnEmulatedDevice_namesNoMeasuredLimit() {
        const Outcome outcome = run(words(
            "bench --model %1 --prompt 20 --decode 4 --repeat 1 --json --device emulated:rtx-3060-desktop", {kTiny}));
        QCOMPARE(outcome.status, 0);
        const QJsonObject json = outcome.json();
        QCOMPARE(json[QLatin1String("times")].toString(), QStringLiteral("accounted"));
        for (const char* key : {"read_bandwidth_gb_per_s", "decode_bandwidth_fraction", "peak_bf16_gflops",
                                "peak_f32_gflops", "prefill_peak_fraction"}) {
            QVERIFY2(!json.contains(QLatin1String(key)), key);
        }
        const QJsonArray rates = json[QLatin1String("rates")].toArray();
        QCOMPARE(rates.size(), 4);
        for (const QJsonValue& rate : rates) {
            const QString is = rate[QLatin1String("limit_is")].toString();
            QVERIFY2(is.endsWith(QStringLiteral("by the hardware profile, accounted")), qPrintable(is));
            QVERIFY(rate[QLatin1String("fraction")].toDouble() <= 1);
        }
        QCOMPARE(rates[0][QLatin1String("limit")].toDouble(), 360.0 * 0.85);
        QCOMPARE(rates[1][QLatin1String("limit")].toDouble(), 40.0);
        QCOMPARE(rates[2][QLatin1String("limit")].toDouble(), 15.75 * 0.78);
        const QJsonObject host = json[QLatin1String("host_us_per_token")].toObject();
        QCOMPARE(host.keys(),
                 (QStringList{"between_steps", "computing", "preparing", "recording", "starting", "waiting"}));
        for (const char* phase : {"preparing", "starting", "recording"}) {
            QVERIFY2(host[QLatin1String(phase)].toDouble() > 0, phase);
        }
    }

    void bench_json_hasEveryFigure() {
        const Outcome outcome = run(words("bench --model %1 --prompt 20 --decode 4 --repeat 1 --json", {kTiny}));
        QCOMPARE(outcome.status, 0);
        const QJsonObject json = outcome.json();
        for (const char* key : {"prefill_tokens_per_s", "decode_tokens_per_s", "active_weight_bytes_per_token",
                                "decode_gb_per_s", "read_bandwidth_gb_per_s", "decode_bandwidth_fraction",
                                "prefill_gflops", "peak_bf16_gflops", "prefill_peak_fraction"}) {
            // A limit that other work disturbed is none.
            const bool is_limit = QLatin1String(key).contains(QLatin1String("bandwidth")) ||
                                  QLatin1String(key) == QLatin1String("prefill_peak_fraction");
            const double value = json[QLatin1String(key)].toDouble();
            QVERIFY2(value > 0 || is_limit, key);
        }
        QVERIFY(!json.contains(QLatin1String("host_us_per_token")));  // the CPU computes where others start
        // Embedding row, qkv, output, norms, gate, two experts of four in each of 3
        // layers, the final norm and the head.
        const double layer = (32 + 2 * 16) * 32 + 32 * 32 + 2 * 32 + 4 * 32 + 2 * 3 * 32 * 48;
        QCOMPARE(json[QLatin1String("active_weight_bytes_per_token")].toDouble(), 4 * (32 + 3 * layer + 32 + 48 * 32));
        const double gigabytes = json[QLatin1String("active_weight_bytes_per_token")].toDouble() *
                                 json[QLatin1String("decode_tokens_per_s")].toDouble() / 1e9;
        QVERIFY(qAbs(json[QLatin1String("decode_gb_per_s")].toDouble() / gigabytes - 1) < 1e-6);
        // The peak belongs to the products in use.
        QCOMPARE(json[QLatin1String("prefill_products")].toString(), QStringLiteral("f32"));
        if (!json.contains(QLatin1String("prefill_peak_is"))) return;  // other work disturbed it
        QCOMPARE(json[QLatin1String("prefill_peak_is")].toString(), QStringLiteral("f32 peak, measured in this run"));
        const double share =
            json[QLatin1String("prefill_gflops")].toDouble() / json[QLatin1String("peak_f32_gflops")].toDouble();
        QVERIFY(qAbs(json[QLatin1String("prefill_peak_fraction")].toDouble() / share - 1) < 1e-6);
    }

    void generate_sameSeed_sameAnswer() {
        const QStringList base = words("generate --model %1 --prompt %2 --max-tokens 24 --temperature 1 --json",
                                       {kDemo, QStringLiteral("Tell me a story about a fox.")});
        const QJsonObject a = run(base + words("--seed 3")).json();
        const QJsonObject b = run(base + words("--seed 3")).json();
        QVERIFY(!a[QLatin1String("text")].toString().isEmpty());
        QCOMPARE(a[QLatin1String("tokens")], b[QLatin1String("tokens")]);
        QCOMPARE(a[QLatin1String("text")], b[QLatin1String("text")]);
        QVERIFY(a[QLatin1String("prompt_tokens")].toInt() > 5);
        QVERIFY(a[QLatin1String("ttft_s")].toDouble() > 0);
        QVERIFY(a[QLatin1String("decode_tokens_per_s")].toDouble() > 0);
        QSet<QString> texts;
        for (int seed = 4; seed < 9; ++seed) {
            texts.insert(
                run(base + words("--seed %1", {QString::number(seed)})).json()[QLatin1String("text")].toString());
        }
        QVERIFY(texts.size() > 1);
    }

    // The first token of an answer depends only on the prompt's logits and the seed.
    void answers_ofNeighbouringSeeds_areOthers_andEachHasItsSeed() {
        const auto first = [](const QString& options) {
            const QStringList arguments =
                words("generate --model %1 --prompt %2 --json", {kDemo, QStringLiteral("Tell me a story")});
            return run(arguments + words("--max-tokens 1 --compute f32 --temperature 50 --top-k 0 --top-p 1") +
                       words(options))
                .json();
        };
        const auto tokensOf = [](const QJsonObject& json) {
            QJsonArray tokens;
            for (const auto& answer : json[QLatin1String("answers")].toArray())
                tokens << answer[QLatin1String("tokens")];
            return tokens;
        };
        const QJsonObject here = first(QStringLiteral("--answers 8 --seed 41"));
        QJsonArray beside = tokensOf(first(QStringLiteral("--answers 8 --seed 42")));
        QJsonArray tokens = tokensOf(here);
        QCOMPARE(tokens.size(), 8);
        QCOMPARE(tokens[0], first(QStringLiteral("--seed 41"))[QLatin1String("tokens")]);
        const QJsonValue third = here[QLatin1String("answers")].toArray()[2];
        QCOMPARE(
            first(QStringLiteral("--seed %1").arg(third[QLatin1String("seed")].toInteger()))[QLatin1String("tokens")],
            third[QLatin1String("tokens")]);
        tokens.removeFirst();
        beside.removeLast();
        QVERIFY(tokens != beside);
    }

    void repeatWindow_zero_looksBackAtAllTokens() {
        const auto outcome = [](const char* window) {
            return run(words("generate --model %1 --prompt %2 --json --temperature 0 --max-tokens 40 --repeat-penalty "
                             "100 --repeat-window %3",
                             {kDemo, QStringLiteral("Tell me a story"), QString::fromLatin1(window)}))
                .json();
        };
        const auto repeats = [](const QJsonObject& json) {
            const QJsonArray tokens = json[QLatin1String("tokens")].toArray();
            QSet<int> different;
            for (const auto& token : tokens) different.insert(token.toInt());
            return tokens.size() - different.size();
        };
        const QJsonObject all = outcome("0");
        QVERIFY(all[QLatin1String("tokens")].toArray().size() > 20);
        QCOMPARE(repeats(all), 0);
        QVERIFY(repeats(outcome("1")) > 0);
        const QJsonObject sampler = all[QLatin1String("sampler")].toObject();
        QCOMPARE(sampler[QLatin1String("repeat_window")].toInt(-1), 0);
        QCOMPARE(sampler[QLatin1String("repeat_penalty")].toDouble(), 100.0);
    }

    void quant_thatDoesNotSuitTheModel_saysWhy() {
        const auto logits = [](const char* model, const char* quant) {
            return run(words("logits --model %1 --tokens 1 --quant %2",
                             {QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/models/") + QLatin1String(model),
                              QString::fromLatin1(quant)}));
        };
        const Outcome dense = logits("grouped_f32", "dense=8");
        QCOMPARE(dense.status, 0);
        QCOMPARE(dense.err, QByteArray("note: Attention's matrices stay in F32: INT8 needs rows of a multiple of 64 "
                                       "weights, and theirs have 32.\n"));
        const Outcome wide = logits("wide_head_sharded_v4_f32", "dense=4");
        QCOMPARE(wide.status, 0);
        QCOMPARE(wide.err, QByteArray("note: Attention's query, key and value matrices stay in F32: HQQ4 needs rows of "
                                      "a multiple of 64 weights, and theirs have 32.\n"));
        QCOMPARE(logits("grouped_bf16", "dense=4").err, QByteArray());
        const Outcome experts = logits("grouped_f32", "experts=int8");
        QCOMPARE(experts.status, 1);
        QCOMPARE(experts.err,
                 QByteArray("offstage-cli: The experts of this model cannot be kept in INT8: that needs a hidden_size "
                            "that is a multiple of 64, and it is 32; expected one of F32, BF16.\n"));
    }

    void absurdBudgets_areRefusedInASentence() {
        const auto refusal = [](const QString& options) {
            const Outcome outcome = run(words("generate --model %1 --prompt x", {kDemo}) + words(options));
            return QString::fromUtf8(outcome.err);
        };
        QCOMPARE(
            refusal(QStringLiteral("--device emulated:rtx-3060 --vram 999TiB")),
            QStringLiteral("offstage-cli: The VRAM budget is 999.0 TiB, but the GeForce RTX 3060 has only 11.5 GiB to "
                           "give; lower it.\n"));
        QVERIFY(refusal(QStringLiteral("--ram 999TiB"))
                    .startsWith(QStringLiteral("offstage-cli: The RAM budget is 999.0 TiB, but only ")));
    }

    void generate_text_isWhatJsonSays() {
        const QStringList base = words("generate --model %1 --prompt %2 --temperature 0 --max-tokens 40",
                                       {kDemo, QStringLiteral("What is an expert?")});
        const Outcome plain = run(base);
        const Outcome json = run(base + words("--json"));
        QCOMPARE(plain.status, 0);
        QCOMPARE(plain.err, QByteArray());
        QCOMPARE(QString::fromUtf8(plain.out), json.json()[QLatin1String("text")].toString() + QLatin1Char('\n'));
    }

    void chat_answersEachLine_andGoesOnAfterAFailure() {
        const QByteArray tooLong = QByteArray("word ").repeated(3000) + '\n';
        const Outcome outcome = run(words("chat --model %1 --max-tokens 8 --temperature 0", {kDemo}),
                                    "Hello\n" + tooLong + "\n/new\nHello\n/quit\nnever read\n");
        QCOMPARE(outcome.status, 0);
        QVERIFY2(outcome.err.count('\n') == 1 && outcome.err.contains("context"), outcome.err.constData());
        QCOMPARE(outcome.out.count("tokens, first after"), 2);
        const QByteArray first = outcome.out.split('>')[1].split('[')[0];
        QVERIFY(first.size() > 4);
        QCOMPARE(outcome.out.count(first), 2);  // a new conversation answers the same again
    }

    void thinking_isPrintedApart_andChosen() {
        // The demo model with a template that begins each reply with a thought unless the
        // thought is switched off.
        const QTemporaryDir folder;
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.model", "tokenizer_config.json",
                                 "special_tokens_map.json", "generation_config.json"}) {
            QVERIFY(QFile::link(kDemo + QLatin1Char('/') + QLatin1String(name), folder.filePath(QLatin1String(name))));
        }
        QFile jinja(folder.filePath(QStringLiteral("chat_template.jinja")));
        QVERIFY(jinja.open(QIODevice::WriteOnly));
        jinja.write(
            "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' + m.content }}{% endfor %}"
            "<|assistant|>{{ '' if enable_thinking is defined and not enable_thinking else '<think>' }}");
        jinja.close();
        const QStringList base = words("--model %1 --max-tokens 6 --temperature 0 --compute f32", {folder.path()});

        const Outcome chat = run(QStringList{QStringLiteral("chat")} + base,
                                 "Hello\n/think off\nHello\n/think hard\n/think\nHello\n/quit\n");
        QCOMPARE(chat.status, 0);
        QVERIFY2(chat.out.contains("/think off|on says"), chat.out.constData());
        QCOMPARE(chat.out.count("[thinking]\n"), 2);
        QCOMPARE(chat.out.count("6 tokens, 6 of them thought"), 2);
        QCOMPARE(chat.out.count("[6 tokens, first"), 1);
        QVERIFY(chat.out.contains("Thinking: off."));
        QVERIFY2(chat.err.contains("\"hard\" is no way of thinking here; this model offers off|on."),
                 chat.err.constData());
        const Outcome hidden = run(words("chat --hide-thinking") + base, "Hello\n/quit\n");
        QVERIFY(!hidden.out.contains("[thinking]"));
        QVERIFY(hidden.out.contains("6 of them thought"));

        const QStringList generate = words("generate --prompt Hello") + base;
        const Outcome json = run(generate + words("--json"));
        QVERIFY(!json.json()[QLatin1String("thought")].toString().isEmpty());
        QVERIFY(json.json()[QLatin1String("thought_is_open")].toBool());
        QCOMPARE(json.json()[QLatin1String("text")].toString(), QString());
        const Outcome plain = run(generate);  // only the answer, and there is none
        QCOMPARE(plain.out, QByteArray("\n"));
        QVERIFY2(plain.err.startsWith("Ended within the thought before the answer, after 6 tokens"),
                 plain.err.constData());
        const Outcome off = run(generate + words("--thinking off --json"));
        QVERIFY(!off.json()[QLatin1String("text")].toString().isEmpty());
        QCOMPARE(off.json()[QLatin1String("thought")].toString(), QString());
        const Outcome wrong = run(generate + words("--thinking hard"));
        QCOMPARE(wrong.status, 1);
        QVERIFY(wrong.err.contains("offers off, on"));
        const Outcome info = run(words("info %1", {folder.path()}));
        QVERIFY2(info.out.contains("thinks before it answers: off, on"), info.out.constData());
    }
};

QTEST_GUILESS_MAIN(TestCli)
#include "tst_cli.moc"
