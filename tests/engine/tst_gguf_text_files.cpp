// Tokenizers of GGUF files: those with pieces, chat templates beside them, and what is refused.

#include <limits>

#include <QTemporaryDir>
#include <QTest>

#include "engine/error.h"
#include "engine/files/gguf.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/gguf_tokens.h"
#include "tests/engine/gguf_writer.h"
#include "tests/engine/text_lines.h"

using namespace offstage::engine;
using namespace offstage::tests::gguf_tokens;
using offstage::test::bytes_of;
using offstage::tests::GgufWriter;

class GgufTextFilesTest : public QObject {
    Q_OBJECT

  private slots:
    // ---- sentencepiece
    void a_blank_goes_before_texts_unless_the_file_says_no() {
        const GgufWriter writer = small_pieces().writer("llama");
        QCOMPARE(open(writer)->encode("ab"), (Ids{262, 261}));
        QCOMPARE(open(writer)->encode_with_special("a<s>a"), (Ids{262, 1, 262}));
        const auto plain = open(GgufWriter(writer).add("tokenizer.ggml.add_space_prefix", false));
        QCOMPARE(plain->encode("ab"), Ids{263});
        QCOMPARE(plain->encode_with_special("a<s>a"), (Ids{260, 1, 260}));
        QCOMPARE(open(writer)->encode("\n"), (Ids{259, 3 + '\n'}));  // byte fallback
        QCOMPARE(open(writer)->decode(Ids{262, 261, 3 + '\n'}), std::string("ab\n"));
    }

    // Pieces that sentencepiece itself has as user-defined have the score 0; tokens that
    // were added have another, and a text after them begins anew.
    void added_tokens_end_a_text_and_own_ones_do_not() {
        const auto ids = [](float score) {
            return open(small_pieces().add("-", kUserDefined, score).writer("llama"))->encode_with_special("a-a");
        };
        QCOMPARE(ids(0), (Ids{262, 264, 260}));
        QCOMPARE(ids(-1000), (Ids{262, 264, 262}));
    }

    void white_space_after_the_tokens_of_phi_is_dropped() {
        GgufWriter writer = small_pieces().add("<|user|>", kControl).add("<|endoftext|>", kControl).writer("llama");
        QCOMPARE(open(writer)->encode_with_special("<|user|>\na"), (Ids{264, 259, 3 + '\n', 260}));
        for (const char* architecture : {"phi3", "phimoe"}) {
            const auto tokenizer = open(writer.add("general.architecture", architecture));
            QCOMPARE(tokenizer->encode_with_special("<|user|>\na"), (Ids{264, 262}));
            QCOMPARE(tokenizer->encode_with_special("<|endoftext|>\na"), (Ids{265, 259, 3 + '\n', 260}));
        }
    }

    // As old converters wrote Phi-3: several unknown tokens, and <unk> a control token.
    void several_unknown_tokens_are_no_error() {
        Tokens tokens = small_pieces();
        tokens.types[0] = kControl;
        tokens.add("[PAD264]", kUnknown).add("", kNormal).add("[PAD266]", kUnknown);
        const auto tokenizer = open(tokens.writer("llama"));
        QCOMPARE(tokenizer->vocab_size(), 267);
        QCOMPARE(tokenizer->encode("ab"), (Ids{262, 261}));
    }

    // ---- files
    void a_path_is_read_as_a_folder_is() {
        const QTemporaryDir dir;
        const std::filesystem::path path = dir.filePath("model-00001-of-00003.gguf").toStdString();
        GgufWriter writer = small_bpe().add_floats("token_embd.weight", {2, 4}, std::vector<float>(8));
        writer.write(path);
        QVERIFY(Tokenizer::is_in(path));
        QCOMPARE(Tokenizer::open(path, kVocabSize)->encode("abc"), Ids{257});
        QVERIFY(ChatTemplate::read(path) == nullptr);
        writer.add("tokenizer.chat_template", "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}");
        writer.write(path);
        QCOMPARE(ChatTemplate::read(path)->render({{Role::kUser, "hello"}}, {"<s>", "</s>"}, true).bytes,
                 std::string("<s>[hello]"));

        GgufWriter other;
        other.add("general.architecture", "llama").write(path);
        QVERIFY(!Tokenizer::is_in(path));
        QVERIFY_THROWS_EXCEPTION(Error, Tokenizer::open(path, kVocabSize));
        other.add("tokenizer.ggml.model", "none").write(path);
        QVERIFY(!Tokenizer::is_in(path));
        std::filesystem::resize_file(path, 40);
        QVERIFY_THROWS_EXCEPTION(Error, Tokenizer::is_in(path));
        QVERIFY_THROWS_EXCEPTION(Error, Tokenizer::open(path.parent_path() / "absent.gguf", kVocabSize));
    }

    void of_several_chat_templates_the_default_one_is_taken() {
        const auto rendered = [](const GgufWriter& writer) {
            const std::string file = writer.bytes();
            const auto chat = ChatTemplate::read(parse_gguf(std::as_bytes(std::span(file)), "model.gguf").metadata);
            return chat == nullptr ? std::string("none") : chat->render({{Role::kUser, "hello"}}, {}, false).bytes;
        };
        GgufWriter writer;
        QCOMPARE(rendered(writer), std::string("none"));
        writer.add("tokenizer.chat_templates", std::vector<std::string>{"tool_use", "default"});
        writer.add("tokenizer.chat_template.tool_use", "tools").add("tokenizer.chat_template.default", "plain");
        QCOMPARE(rendered(writer), std::string("plain"));
        writer.add("tokenizer.chat_template", "first");
        QCOMPARE(rendered(writer), std::string("first"));
        writer.add("tokenizer.chat_template", "{% if %}");
        QVERIFY_THROWS_EXCEPTION(Error, rendered(writer));
        writer.add("tokenizer.chat_template", std::uint32_t{3});
        QVERIFY_THROWS_EXCEPTION(Error, rendered(writer));
    }

    // As llama.cpp warns: "default" is a guess then.
    void pre_missing_isNoted() {
        const auto notes = [](const GgufWriter& writer) { return open(writer)->notes(); };
        QVERIFY(notes(small_bpe()).empty());
        QVERIFY(notes(small_bpe().add("tokenizer.ggml.pre", "default")).empty());
        QVERIFY(notes(small_bpe().remove("tokenizer.ggml.pre").add("general.architecture", "glm4moe")).empty());
        QVERIFY(notes(small_pieces().writer("llama")).empty());
        for (const GgufWriter& writer :
             {small_bpe().remove("tokenizer.ggml.pre"), small_bpe().add("tokenizer.ggml.pre", "")}) {
            const auto said = notes(writer);
            QCOMPARE(said.size(), std::size_t{1});
            QVERIFY(QString::fromStdString(said.front().english())
                        .startsWith(QStringLiteral("The file does not say how a text is cut into words")));
        }
    }

    // CVE-2024-34359, CVE-2026-5760: a template that tries to reach the interpreter finds
    // nothing.
    void a_template_that_wants_to_be_code_is_refused() {
        const std::string file = bytes_of(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/gguf_text/template-as-code");
        const GgufHeader header = parse_gguf(std::as_bytes(std::span(file)), "model.gguf");
        const auto chat = ChatTemplate::read(header.metadata);
        QVERIFY(chat != nullptr);
        try {
            chat->render({{Role::kUser, "hello"}}, {"<s>", "</s>"}, true);
            QFAIL("it was rendered");
        } catch (const Error& error) {
            QVERIFY2(QString(error.what()).contains("__class__"), error.what());
        }
    }

    // ---- bad input
    void impossible_metadata_is_refused_data() {
        QTest::addColumn<QByteArray>("file");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const GgufWriter& writer, const char* sentence) {
            QTest::addRow("%s", name) << QByteArray::fromStdString(writer.bytes()) << sentence;
        };
        using Texts = std::vector<std::string>;
        const auto bpe = [] { return small_bpe(); };
        const auto spm = [] { return small_pieces().writer("llama"); };
        row("no model", bpe().remove("tokenizer.ggml.model"), "has no tokenizer: \"tokenizer.ggml.model\"");
        row("another model", bpe().add("tokenizer.ggml.model", "bert"),
            "\"tokenizer.ggml.model\" is \"bert\"; expected one of llama, gpt2, gemma4");
        row("a model that is no text", bpe().add("tokenizer.ggml.model", std::uint32_t{1}),
            "\"tokenizer.ggml.model\" is 1; expected a text");
        row("another way to cut words", bpe().add("tokenizer.ggml.pre", "poro-chat"),
            "\"tokenizer.ggml.pre\" is \"poro-chat\"; expected one of gemma4, default, ");
        row("no tokens", bpe().remove("tokenizer.ggml.tokens"),
            "\"tokenizer.ggml.tokens\" is missing; expected a list of 1 to 4096 texts");
        row("tokens that are no texts", bpe().add("tokenizer.ggml.tokens", std::vector<float>{1}),
            "\"tokenizer.ggml.tokens\" is a list of 1: 1.0; expected a list of texts");
        row("too many tokens", bpe().add("tokenizer.ggml.tokens", Texts(5000, "a")),
            "\"tokenizer.ggml.tokens\" is a list of 5000; expected a list of 1 to 4096 texts");
        Tokens broken;
        broken.add("\xFF");
        row("a token that is no text", small_bpe(broken),
            "\"tokenizer.ggml.tokens\"[258] is \"\\xff\"; expected text in UTF-8");
        row("too few types", bpe().add("tokenizer.ggml.token_type", std::vector<std::int32_t>{1}),
            "\"tokenizer.ggml.token_type\" is a list of 1: 1; expected a list of 258, one for each token");
        row("no merges", bpe().remove("tokenizer.ggml.merges"),
            "\"tokenizer.ggml.merges\" is missing; expected a list");
        row("Gemma 4 without merges, as Ollama calls it", spm().add("tokenizer.ggml.pre", "gemma4"),
            "\"tokenizer.ggml.merges\" is missing; expected a list");
        row("a way to cut words beside pieces",
            spm().add("tokenizer.ggml.pre", "qwen2").add("tokenizer.ggml.merges", Texts{"a b"}),
            "\"tokenizer.ggml.pre\" is \"qwen2\"; expected \"default\", or another \"tokenizer.ggml.model\"");
        const auto pieces = small_pieces();
        row("characters for bytes", pieces.writer("gpt2").add("tokenizer.ggml.merges", Texts{"a b"}),
            "\"tokenizer.ggml.model\" is \"gpt2\"; expected gemma4, llama: the tokens write a blank as "
            "\"\u2581\"");
        row("bytes for characters", bpe().add("tokenizer.ggml.model", "gemma4"),
            "\"tokenizer.ggml.model\" is \"gemma4\"; expected gpt2: the tokens write a blank as \"\u0120\"");
        row("bytes for pieces", byte_tokens().writer("llama"),
            "\"tokenizer.ggml.model\" is \"llama\"; expected gpt2: the tokens write a blank as \"\u0120\"");
        row("an id that is no number", bpe().add("tokenizer.ggml.eos_token_id", "x"), "expected an integer");
        row("a flag that is none", bpe().add("tokenizer.ggml.add_bos_token", std::uint32_t{1}),
            "\"tokenizer.ggml.add_bos_token\" is 1; expected true or false");
        row("no scores", spm().remove("tokenizer.ggml.scores"),
            "\"tokenizer.ggml.scores\" is missing; expected a list of 264 numbers, one for each token");
        row("too few scores", spm().add("tokenizer.ggml.scores", std::vector<float>{1}),
            "\"tokenizer.ggml.scores\" is a list of 1: 1.0; expected a list of 264 numbers");
        std::vector<float> scores(264, 0.0f);
        scores[5] = std::numeric_limits<float>::quiet_NaN();
        row("a score that is no number", spm().add("tokenizer.ggml.scores", scores),
            "\"tokenizer.ggml.scores\"[5] is nan; expected a number");
        Tokens bytes = small_pieces();
        bytes.types[3] = kNormal;
        row("a byte missing", bytes.writer("llama"), "expected none or 256 tokens of type 6, a byte, not 255");
        bytes = small_pieces();
        bytes.names[3] = "<0xYZ>";
        row("a byte that is none", bytes.writer("llama"), "model.gguf is no valid sentencepiece model");
        row("a piece that is too long", small_pieces().add(std::string(2000, 'a')).writer("llama"),
            "model.gguf is no valid sentencepiece model: the field piece 264 is too long");
    }
    void impossible_metadata_is_refused() {
        QFETCH(QByteArray, file);
        QFETCH(QString, sentence);
        const GgufHeader header =
            parse_gguf(std::as_bytes(std::span(file.constData(), static_cast<std::size_t>(file.size()))), "model.gguf");
        try {
            Tokenizer::open(header.metadata, kVocabSize);
            QFAIL("it was opened");
        } catch (const Error& error) {
            // The list of models shows the same, except for a model without a tokenizer.
            try {
                Tokenizer::check(header.metadata, kVocabSize);
                QVERIFY(!Tokenizer::is_in(header.metadata));
            } catch (const Error& checked) {
                QCOMPARE(checked.message().english(), error.message().english());
            }
            QVERIFY2(QString(error.what()).startsWith("model.gguf"), error.what());
            QVERIFY2(QString(error.what()).contains(sentence), error.what());
            const bool is_named = sentence.contains("expected one of");
            const bool is_absent = sentence.contains("has no tokenizer");
            QCOMPARE(error.kind(), is_named    ? ErrorKind::kUnsupported
                                   : is_absent ? ErrorKind::kNotFound
                                               : ErrorKind::kInvalidModel);
        }
    }

    void integers_are_scores_too() {
        QCOMPARE(open(small_pieces().writer("llama").add("tokenizer.ggml.scores", std::vector<std::int32_t>(264, 0)))
                     ->vocab_size(),
                 264);
        QVERIFY(!error_of(small_bpe()).has_value());
    }
};

QTEST_APPLESS_MAIN(GgufTextFilesTest)
#include "tst_gguf_text_files.moc"
