#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>
#include <variant>

#include <QTemporaryDir>
#include <QTest>

#include "engine/error.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/tokenizer_folder.h"

using namespace offstage::engine;
using nlohmann::json;

namespace {

const std::filesystem::path kData = OFFSTAGE_SOURCE_DIR "/tests/engine/data/text";

std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The model's folder, and its golden file. A missing model is left out.
struct Golden {
    const char* name;
    std::filesystem::path model;
};
const Golden kGolden[] = {
    {"bpe", kData / "bpe"},
    {"unigram", kData / "unigram"},
    {"demo-model", OFFSTAGE_SOURCE_DIR "/resources/demo-model"},
};

bool is_there(const Golden& golden) {
    return std::filesystem::exists(golden.model / "tokenizer.model") &&
           std::filesystem::exists(kData / (std::string(golden.name) + ".ids.json"));
}

json ids_of(const std::string& name) {
    return json::parse(bytes_of(kData / (name + ".ids.json")));
}

json ids_of_llama() {
    return json::parse(bytes_of(kData / "llama.json"));
}

std::filesystem::path folder_of(const std::string& model) {
    for (const Golden& golden : kGolden) {
        if (model == golden.name) return golden.model;
    }
    return kData / model;
}

// With a copy of a tokenizer.
struct Folder : offstage::test::TokenizerFolder {
    explicit Folder(std::optional<std::string> model = "bpe") : TokenizerFolder(1024) {
        if (model.has_value()) write("tokenizer.model", bytes_of(folder_of(*model) / "tokenizer.model"));
    }
};

std::string varint(std::uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7F));
    return out + static_cast<char>(value);
}
std::string field(unsigned number, const std::string& bytes) {
    return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string field(unsigned number, std::uint64_t value) {
    return varint(number << 3) + varint(value);
}
std::string score(float value) {
    std::string out = varint(2 << 3 | 5);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
    return out;
}
std::string piece(const std::string& text, std::uint64_t type = 1, float value = -1) {
    return field(1, field(1, text) + score(value) + field(3, type));
}
std::string unit(std::uint32_t value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A smallest model of each piece kind, with a normaliser map put in.
std::string small_model(const std::string& more = {}, const std::string& charsmap = {}) {
    std::string model = piece("<unk>", 2) + piece("<s>", 3) + piece("a") + piece("b") + more;
    model += field(2, field(3, 2));  // BPE
    model += field(3, charsmap.empty() ? std::string() : field(2, charsmap));
    return model;
}

// A double array of `n_units` units, all of them 0x80000000 (no label fits) except the
// given ones.
std::string charsmap(std::size_t n_units, const std::vector<std::pair<std::size_t, std::uint32_t>>& units,
                     const std::string& replacements) {
    std::vector<std::uint32_t> all(n_units, 0x80000000u);
    for (const auto& [at, value] : units) all[at] = value;
    std::string trie;
    for (const std::uint32_t u : all) trie += unit(u);
    return unit(static_cast<std::uint32_t>(trie.size())) + trie + replacements;
}

}  // namespace

class TokenizerTest : public QObject {
    Q_OBJECT

  private slots:
    // ---------------------------------------------------- against Python's sentencepiece
    void encode_equals_python_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("index");
        for (const Golden& golden : kGolden) {
            if (!is_there(golden)) continue;
            const auto n = static_cast<int>(ids_of(golden.name)["texts"].size());
            for (int i = 0; i < n; ++i) QTest::addRow("%s %d", golden.name, i) << golden.name << i;
        }
    }
    void encode_equals_python() {
        QFETCH(QString, name);
        QFETCH(int, index);
        static std::map<std::string, std::pair<std::unique_ptr<Tokenizer>, json>> opened;
        const std::string key = name.toStdString();
        if (!opened.contains(key)) {
            for (const Golden& golden : kGolden) {
                if (key == golden.name) opened[key] = {Tokenizer::open(golden.model, 1 << 20), ids_of(key)};
            }
        }
        const Tokenizer& tokenizer = *opened[key].first;
        const json& expected = opened[key].second["texts"][static_cast<std::size_t>(index)];
        const auto text = expected["text"].get<std::string>();
        const auto ids = tokenizer.encode(text);
        QCOMPARE(ids, expected["ids"].get<std::vector<TokenId>>());
        QCOMPARE(tokenizer.decode(ids), expected["decoded"].get<std::string>());

        // The text of streamed pieces, except for the leading space.
        Utf8Stream stream;
        std::string streamed;
        for (const TokenId id : ids) streamed += stream.push(tokenizer.piece_bytes(id));
        streamed += stream.finish();
        const auto decoded = expected["decoded"].get<std::string>();
        QVERIFY(streamed == decoded || streamed == " " + decoded);
    }

    void decode_equals_python_data() {
        QTest::addColumn<QString>("name");
        for (const Golden& golden : kGolden) {
            if (is_there(golden)) QTest::addRow("%s", golden.name) << golden.name;
        }
    }
    void decode_equals_python() {
        QFETCH(QString, name);
        const json golden = ids_of(name.toStdString());
        for (const Golden& g : kGolden) {
            if (name != g.name) continue;
            // The library's own result: without the additions of the folder's other
            // files.
            const Folder folder(std::nullopt);
            folder.write("tokenizer.model", bytes_of(g.model / "tokenizer.model"));
            const auto tokenizer = folder.open(1 << 20);
            QCOMPARE(tokenizer->vocab_size(), golden["vocab_size"].get<std::int64_t>());
            QCOMPARE(tokenizer->bos(), golden["bos"].get<TokenId>());
            QCOMPARE(tokenizer->eos(), golden["eos"].get<TokenId>());
            const auto& pieces = golden["pieces"];
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                QCOMPARE(tokenizer->piece_name(static_cast<TokenId>(i)), pieces[i].get<std::string>());
            }
            for (const auto& expected : golden["decodes"]) {
                QCOMPARE(tokenizer->decode(expected["ids"].get<std::vector<TokenId>>()),
                         expected["text"].get<std::string>());
            }
        }
    }

    void encode_a_megabyte_is_the_sum_of_its_lines() {
        // Byte fallback and no merging of spaces: lines encoded one by one differ only in
        // the leading space.
        const auto tokenizer = Folder("unigram").open();
        std::string text;
        while (text.size() < (1u << 20)) text += "the actors wait behind the curtain 123 \xD0\x90\xD0\xBA\xD1\x82\n";
        const auto ids = tokenizer->encode(text);
        QVERIFY(ids.size() > 100'000);
        const auto line = tokenizer->encode(text.substr(0, text.find('\n')));
        QVERIFY(std::equal(line.begin(), line.end(), ids.begin()));
        const auto bpe = Folder("bpe").open();
        QCOMPARE(bpe->decode(bpe->encode(text)), text);
    }

    void encode_refuses_what_is_not_utf8_or_too_long() {
        const auto tokenizer = Folder().open();
        QVERIFY_THROWS_EXCEPTION(Error, tokenizer->encode("a\377"));
        QVERIFY_THROWS_EXCEPTION(Error, tokenizer->encode_with_special("<s>a\303"));
        QVERIFY_THROWS_EXCEPTION(Error, tokenizer->encode(std::string((16u << 20) + 1, 'x')));
        QVERIFY(tokenizer->encode("").empty());
        QVERIFY(tokenizer->encode_with_special("").empty());
    }

    void encode_from_many_threads_gives_the_same() {
        const auto tokenizer = Folder("unigram").open();
        const json golden = ids_of("unigram");
        std::atomic<int> n_wrong = 0;
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (const auto& expected : golden["texts"]) {
                    const auto text = expected["text"].get<std::string>();
                    if (tokenizer->encode(text) != expected["ids"].get<std::vector<TokenId>>()) ++n_wrong;
                }
            });
        }
        threads.clear();
        QCOMPARE(n_wrong.load(), 0);
    }

    // ---------------------------------------------------------------- special tokens
    void special_text_in_plain_text_is_not_special() {
        const auto tokenizer = Folder().open();
        for (const TokenId id : tokenizer->encode("<s> <turn> </s> <unk> <0x0A>")) QVERIFY(!tokenizer->is_control(id));
    }

    void encode_with_special_finds_control_pieces() {
        const auto tokenizer = Folder().open();
        const auto expect = [&](const std::string& text, const std::vector<std::string>& parts) {
            std::vector<TokenId> ids;
            for (const std::string& part : parts) {
                const TokenId special = tokenizer->special_token(part);
                const auto plain = special < 0 ? tokenizer->encode(part) : std::vector<TokenId>{special};
                ids.insert(ids.end(), plain.begin(), plain.end());
            }
            QCOMPARE(tokenizer->encode_with_special(text), ids);
        };
        QCOMPARE(tokenizer->special_token("<s>"), 1);
        QCOMPARE(tokenizer->special_token("<turn>"), 3);
        QCOMPARE(tokenizer->special_token("<tool>"), -1);  // user-defined: sentencepiece's own matter
        QCOMPARE(tokenizer->special_token("<0x0A>"), -1);
        QCOMPARE(tokenizer->special_token("<unk>"), 0);  // LlamaTokenizer's where no file names another
        QCOMPARE(tokenizer->special_token(""), -1);
        expect("<s>", {"<s>"});
        expect("<s><s></s>", {"<s>", "<s>", "</s>"});
        expect("a<turn>b", {"a", "<turn>", "b"});
        expect("<turn><user>", {"<turn><user>"});  // the longest
        expect("<turn><use", {"<turn>", "<use"});
        expect("<turn <turn>", {"<turn ", "<turn>"});
        expect("<<s>>", {"<", "<s>", ">"});
        expect(" x  <turn>  y ", {" x  ", "<turn>", "  y "});
        expect(std::string("a\0<s>\0", 6), {std::string("a\0", 2), "<s>", std::string("\0", 1)});
        expect("<tool><s><tool>", {"<tool>", "<s>", "<tool>"});
        expect("no special at all", {"no special at all"});
    }

    void added_tokens_take_their_ids_and_flags() {
        Folder folder;
        folder.write("tokenizer_config.json",
                     "{\"added_tokens_decoder\": {"
                     "\"1\": {\"content\": \"<s>\", \"special\": true},"
                     "\"700\": {\"content\": \"<|user|>\", \"special\": true, \"rstrip\": true},"
                     "\"701\": {\"content\": \"<|end|>\", \"special\": true, \"lstrip\": true},"
                     "\"702\": {\"content\": \"<|plain|>\", \"special\": false},"
                     "\"703\": {\"content\": \"<|user|>!\", \"special\": true},"
                     "\"6\": {\"content\": \"<tool>\", \"special\": false}},"
                     "\"bos_token\": {\"content\": \"<s>\", \"lstrip\": false}, \"eos_token\": \"<|end|>\", "
                     "\"add_bos_token\": false}");
        const auto tokenizer = folder.open(704);
        QCOMPARE(tokenizer->vocab_size(), 704);
        QCOMPARE(tokenizer->bos(), 1);
        QCOMPARE(tokenizer->eos(), 701);
        QVERIFY(!tokenizer->adds_bos());
        QCOMPARE(tokenizer->special_token("<|user|>"), 700);
        QCOMPARE(tokenizer->special_token("<tool>"), 6);  // a piece, listed again

        const auto together = [&](std::vector<std::variant<TokenId, std::string>> parts) {
            std::vector<TokenId> ids;
            for (const auto& part : parts) {
                if (const auto* id = std::get_if<TokenId>(&part)) {
                    ids.push_back(*id);
                } else {
                    const auto plain = tokenizer->encode(std::get<std::string>(part));
                    ids.insert(ids.end(), plain.begin(), plain.end());
                }
            }
            return ids;
        };
        QCOMPARE(tokenizer->encode_with_special("<|user|>"), together({700}));
        QCOMPARE(tokenizer->encode_with_special("<|user|>!x"), together({703, "x"}));
        QCOMPARE(tokenizer->encode_with_special("<|user|> \n\u00a0\u3000x <|end|>"), together({700, "x", 701}));
        QCOMPARE(tokenizer->encode_with_special(" \n\u2003<|end|> y"), together({701, " y"}));
        QCOMPARE(tokenizer->encode_with_special("<|user|>  <|end|>"), together({700, 701}));
        QCOMPARE(tokenizer->encode_with_special("a <|plain|> b"), together({"a ", 702, " b"}));
        QCOMPARE(tokenizer->encode("<|user|>"), tokenizer->encode("<|user|>"));
        QVERIFY(tokenizer->encode("<|user|>") != together({700}));

        QVERIFY(tokenizer->is_control(700));
        QVERIFY(tokenizer->is_control(701));
        QVERIFY(!tokenizer->is_control(702));
        QVERIFY(!tokenizer->is_control(650));  // between the pieces and the added tokens: nothing
        QCOMPARE(tokenizer->piece_bytes(700), std::string());
        QCOMPARE(tokenizer->piece_bytes(702), std::string("<|plain|>"));
        QCOMPARE(tokenizer->piece_bytes(650), std::string());
        QCOMPARE(tokenizer->piece_name(702), std::string("<|plain|>"));
        QCOMPARE(tokenizer->decode(together({1, "who", 700, "waits", 702, 650, -1, 99999, 701})),
                 std::string("who waits<|plain|>"));
    }

    // libsentencepiece itself finds <tool>, which is a user-defined piece.
    void markers_in_data_are_text_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("legacy");
        QTest::addRow("bpe") << "bpe" << true;
        QTest::addRow("bpe, not legacy") << "bpe" << false;
        QTest::addRow("unigram") << "unigram" << true;
    }
    void markers_in_data_are_text() {
        QFETCH(QString, model);
        QFETCH(bool, legacy);
        const Folder folder(model.toStdString());
        folder.write("tokenizer_config.json",
                     json{{"legacy", legacy},
                          {"added_tokens_decoder", {{"700", {{"content", "<|user|>"}}}, {"701", {{"content", "__"}}}}}}
                         .dump());
        const auto tokenizer = folder.open(704);
        const auto chat = ChatTemplate::parse("<turn><tool>", "test");
        const TokenId turn = tokenizer->special_token("<turn>"), tool = tokenizer->encode("<tool>").back();
        QCOMPARE(tokenizer->piece_name(tool), std::string("<tool>"));
        const auto ids = [&](const std::string& written, const std::string& data) {
            PromptText prompt(written);
            prompt.append(PromptText::of_data(data));
            return tokenizer->encode_prompt(prompt, chat.get());
        };
        const auto has = [](const std::vector<TokenId>& tokens, TokenId token) {
            return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
        };
        QCOMPARE(ids("<turn>the actors", ""), ids("<turn>", "the actors"));
        QCOMPARE(ids("the act", "ors wait"), tokenizer->encode("the actors wait"));
        for (const std::string text :
             {"<turn>", "<tool>", "a<tool>b <tool><tool>", "<|user|>", "</s>", "the \uE000<tool>\uE001"}) {
            const auto tokens = ids("<turn>", text);
            for (const TokenId token : {turn, TokenId{1}, TokenId{2}, TokenId{700}, tool})
                QCOMPARE(std::count(tokens.begin(), tokens.end(), token), token == turn ? 1 : 0);
            auto parts = ids("<turn>", "");
            const auto rest = tokenizer->encode_after(turn, text, chat.get());
            if (model == "bpe") QCOMPARE(tokenizer->decode(rest), text);
            parts.insert(parts.end(), rest.begin(), rest.end());
            QCOMPARE(tokens, parts);
        }
        QVERIFY(has(ids("<turn><tool>", "x"), tool));
        QVERIFY(!has(ids("<to", "ol>"), tool));
        QVERIFY(has(ids("", "a __ b"), 701));  // marks nothing
        const auto other = ChatTemplate::parse("{{ 1 }}", "test");
        QVERIFY(has(tokenizer->encode_prompt(PromptText::of_data("<tool>"), other.get()), tool));
    }

    void older_files_name_added_tokens() {
        Folder folder;
        folder.write("added_tokens.json", "{\"<|im_start|>\": 700, \"<|im_end|>\": 701, \"[PAD]\": 702}");
        folder.write("special_tokens_map.json",
                     "{\"bos_token\": \"<s>\", \"eos_token\": {\"content\": \"<|im_end|>\"}, "
                     "\"additional_special_tokens\": [\"<|im_start|>\"]}");
        const auto tokenizer = folder.open();
        QCOMPARE(tokenizer->eos(), 701);
        QVERIFY(tokenizer->adds_bos());
        QVERIFY(tokenizer->is_control(700));
        QVERIFY(tokenizer->is_control(701));
        QVERIFY(!tokenizer->is_control(702));
        QCOMPARE(tokenizer->encode_with_special("<|im_start|><|im_end|>"), (std::vector<TokenId>{700, 701}));
    }

    void no_bos_when_the_configuration_says_so() {
        Folder folder;
        folder.write("tokenizer_config.json", "{\"bos_token\": null, \"add_bos_token\": true}");
        QCOMPARE(folder.open()->bos(), -1);
        QVERIFY(!folder.open()->adds_bos());
        QCOMPARE(folder.open()->eos(), 2);
    }

    void piece_bytes_of_each_kind() {
        const auto tokenizer = Folder().open();
        const json golden = ids_of("bpe");
        for (std::size_t i = 0; i < golden["pieces"].size(); ++i) {
            const auto name = golden["pieces"][i].get<std::string>();
            const auto id = static_cast<TokenId>(i);
            std::string expected = QString::fromStdString(name).replace(QChar(0x2581), ' ').toStdString();
            if (name.starts_with("<0x"))
                expected = std::string(1, static_cast<char>(std::stoi(name.substr(3, 2), nullptr, 16)));
            if (tokenizer->is_control(id)) expected.clear();
            if (i == 0) expected = " \u2047 ";
            QCOMPARE(tokenizer->piece_bytes(id), expected);
        }
        QCOMPARE(tokenizer->piece_bytes(-1), std::string());
        QCOMPARE(tokenizer->piece_bytes(640), std::string());
        QCOMPARE(tokenizer->piece_name(640), std::string());
        QVERIFY(!tokenizer->is_control(-1));
    }

    // --------------------------------------------------- against Python's LlamaTokenizer
    void special_tokens_anywhere_equal_llama_tokenizer_data() {
        QTest::addColumn<int>("index");
        const json golden = ids_of_llama();
        for (std::size_t i = 0; i < golden["configs"].size(); ++i)
            QTest::addRow("%s", golden["configs"][i]["name"].get<std::string>().c_str()) << static_cast<int>(i);
    }
    void special_tokens_anywhere_equal_llama_tokenizer() {
        QFETCH(int, index);
        const json golden = ids_of_llama();
        const json& config = golden["configs"][static_cast<std::size_t>(index)];
        const Folder folder(config["model"].get<std::string>());
        folder.write("tokenizer_config.json", config["config"].dump());
        const auto tokenizer = folder.open(1 << 20);
        QCOMPARE(tokenizer->adds_bos() ? tokenizer->bos() : -1, config["bos"].get<TokenId>());
        QCOMPARE(tokenizer->adds_eos() ? tokenizer->eos() : -1, config["eos"].get<TokenId>());
        int n_cases = 0;
        for (const json& expected : golden["cases"]) {
            if (expected[0].get<int>() != index) continue;
            const auto text = expected[1].get<std::string>();
            QVERIFY2(tokenizer->encode_with_special(text) == expected[2].get<std::vector<TokenId>>(),
                     expected.dump().c_str());
            ++n_cases;
        }
        QVERIFY(n_cases >= 90);
    }

    void chat_prompt_of_mixtral_equals_llama_tokenizer() {
        const json golden = ids_of_llama();
        std::vector<std::size_t> lengths;
        for (const json& chat : golden["chats"]) {
            const Folder folder;
            folder.write("tokenizer_config.json", json{{"legacy", chat["legacy"]}}.dump());
            std::vector<ChatMessage> messages;
            for (const json& message : chat["messages"]) {
                messages.push_back({message["role"] == "user" ? Role::kUser : Role::kAssistant,
                                    message["content"].get<std::string>()});
            }
            const auto parsed = ChatTemplate::parse(chat["template"].get<std::string>(), "golden");
            const PromptText text = parsed->render(messages, {"<s>", "</s>"}, false);
            const auto ids = folder.open()->encode_prompt(text, parsed.get());
            QCOMPARE(ids, chat["ids"].get<std::vector<TokenId>>());
            lengths.push_back(ids.size());
        }
        // One piece less after <s>, and one less after the </s> of the turn before.
        QCOMPARE(lengths, (std::vector<std::size_t>{lengths[1] + 2, lengths[1]}));
    }

    // As transformers 5.24 reads the demo model's tokenizer.model, 1966 being a blank
    // piece, 403 "one" with a blank before it and 523 without.
    void begins_with_one_blank_unless_legacy_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QVector<int>>("ids");
        const auto row = [](const char* text, const QVector<int>& ids) { QTest::addRow("%s", text) << text << ids; };
        row("one", {403});
        row(" one", {403});
        row("  one", {1966, 403});
        row("   one", {1966, 1966, 403});
        row("", {});
        row(" ", {1966});
        row("  ", {1966, 1966});
        row("\n", {1966, 6});
        row("\none", {1966, 6, 523});
        row(" \none", {1966, 6, 523});
        row("\t one", {1966, 18, 403});
        row("<s>one", {1, 523});
        row("<s> one", {1, 403});
        row("<s>  one", {1, 1966, 403});
        row("</s> one", {2, 403});
        row("a<s> one", {265, 1, 403});
        row(" <s> one", {1966, 1, 403});
        row(" </s> ", {1966, 2, 1966});
        row("one </s>two", {403, 1966, 2, 1968, 807});
        row("\u2581one", {403});
        row(" \u2581one", {1966, 403});
        row(" \u00e9", {1966, 204, 178});
    }
    void begins_with_one_blank_unless_legacy() {
        QFETCH(QString, text);
        QFETCH(QVector<int>, ids);
        const Folder folder("demo-model");
        folder.write("tokenizer_config.json", json{{"legacy", false}}.dump());
        const auto tokenizer = folder.open(1 << 20);
        QCOMPARE(tokenizer->encode_with_special(text.toStdString()), std::vector<TokenId>(ids.begin(), ids.end()));
        if (!text.contains(QStringLiteral("s>")))
            QCOMPARE(tokenizer->encode(text.toStdString()), std::vector<TokenId>(ids.begin(), ids.end()));
    }

    void text_that_goes_on_after_a_special_token_gets_no_prefix_unless_legacy() {
        const Folder folder;
        for (const bool legacy : {true, false}) {
            folder.write("tokenizer_config.json", json{{"legacy", legacy}}.dump());
            const auto tokenizer = folder.open();
            // One call for the whole gives the same as two for its parts.
            const auto whole = tokenizer->encode_with_special("a<turn>the actors");
            auto parts = tokenizer->encode_with_special("a<turn>");
            const auto rest = tokenizer->encode_after(parts.back(), "the actors", nullptr);
            parts.insert(parts.end(), rest.begin(), rest.end());
            QCOMPARE(parts.size(), tokenizer->encode("a").size() + 1 + rest.size());
            // <turn> is a control piece that no file names, which LlamaTokenizer does not
            // support: special here nevertheless.
            QCOMPARE(parts, whole);
            QCOMPARE(rest == tokenizer->encode("the actors"), legacy);
            QCOMPARE(tokenizer->encode_after(tokenizer->encode("x").back(), "the actors", nullptr),
                     tokenizer->encode("the actors"));
            QCOMPARE(tokenizer->encode_after(-1, "the actors", nullptr), tokenizer->encode("the actors"));
            QVERIFY_THROWS_EXCEPTION(Error, tokenizer->encode_after(3, "a\377", nullptr));
            QCOMPARE(tokenizer->decode(rest), std::string("the actors"));
            QCOMPARE(tokenizer->decode(tokenizer->encode("the actors")), std::string("the actors"));
        }
    }

    void fields_that_are_null_count_as_missing() {
        const Folder folder;
        const std::string text = "the actors<s>the actors";
        const auto of = [&](const char* config) {
            folder.write("tokenizer_config.json", config);
            return folder.open()->encode_with_special(text);
        };
        const auto nothing = of("{}");
        QCOMPARE(of("{\"legacy\": null, \"add_prefix_space\": null, \"add_bos_token\": null}"), nothing);
        QCOMPARE(of("{\"legacy\": true}"), nothing);
        QVERIFY(of("{\"legacy\": false}") != nothing);
        QCOMPARE(of("{\"legacy\": false, \"add_prefix_space\": null}"), of("{\"legacy\": false}"));
    }

    // --------------------------------------------------- files that are missing or wrong
    void open_without_a_model_says_what_is_expected() {
        const Folder folder(std::nullopt);
        QCOMPARE(folder.error().kind(), ErrorKind::kNotFound);
        QVERIFY(QString(folder.error().what()).contains("tokenizer.model"));
        std::filesystem::create_directory(folder.path() / "tokenizer.model");
        QCOMPARE(folder.error().kind(), ErrorKind::kInvalidModel);
    }

    void open_compares_with_the_models_vocabulary() {
        const Folder folder;
        QVERIFY(folder.open(640) != nullptr);
        QVERIFY(folder.open(32000) != nullptr);
        QCOMPARE(folder.error(639).kind(), ErrorKind::kInvalidModel);
        QVERIFY(QString(folder.error(639).what()).contains("vocab_size of 639"));
        QCOMPARE(folder.error(0).kind(), ErrorKind::kInvalidModel);
    }

    void open_broken_configuration_names_file_and_field_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* file, const char* text, const char* part) {
            QTest::addRow("%s %s", file, text) << file << QByteArray(text) << part;
        };
        const char* config = "tokenizer_config.json";
        row(config, "", "not valid JSON");
        row(config, "[1]", "a JSON object");
        row(config, "{\"bos_token\": \"\377\"}", "not valid JSON");
        row(config, "{\"bos_token\": 1}", "bos_token");
        row(config, "{\"bos_token\": {}}", "bos_token");
        row(config, "{\"bos_token\": \"<none such>\"}", "<none such>");
        row(config, "{\"eos_token\": \"<none such>\"}", "eos_token");
        row(config, "{\"add_bos_token\": \"yes\"}", "add_bos_token");
        row(config, "{\"add_eos_token\": 1}", "add_eos_token");
        row(config, "{\"legacy\": \"no\"}", "legacy");
        row(config, "{\"add_prefix_space\": []}", "add_prefix_space");
        row(config, "{\"additional_special_tokens\": [3]}", "additional_special_tokens");
        row(config, "{\"added_tokens_decoder\": {\"7\": {\"content\": \"a\", \"single_word\": 1}}}",
            "added_tokens_decoder.7.single_word");
        row(config, "{\"added_tokens_decoder\": []}", "added_tokens_decoder");
        row(config, "{\"added_tokens_decoder\": {\"x\": {\"content\": \"a\"}}}", "added_tokens_decoder.x");
        row(config, "{\"added_tokens_decoder\": {\"-1\": {\"content\": \"a\"}}}", "from 0 to 1023");
        row(config, "{\"added_tokens_decoder\": {\"1024\": {\"content\": \"a\"}}}", "not 1024");
        row(config, "{\"added_tokens_decoder\": {\"99999999999999999999\": {\"content\": \"a\"}}}",
            "named by a token id");
        row(config, "{\"added_tokens_decoder\": {\"7\": {\"content\": 1}}}", "content");
        row(config, "{\"added_tokens_decoder\": {\"7\": {\"content\": \"\"}}}", "1 to 1024 bytes");
        row(config, "{\"added_tokens_decoder\": {\"7\": \"a\"}}", "content");
        row(config, "{\"added_tokens_decoder\": {\"7\": {\"content\": \"a\", \"special\": 1}}}",
            "added_tokens_decoder.7.special");
        row(config, "{\"added_tokens_decoder\": {\"7\": {\"content\": \"a\"}, \"8\": {\"content\": \"a\"}}}", "twice");
        row(config, "{\"added_tokens_decoder\": {\"7\": {\"content\": \"a\"}, \"07\": {\"content\": \"b\"}}}", "twice");
        row("added_tokens.json", "{\"a\": \"b\"}", "a token id");
        row("added_tokens.json", "{\"a\": 5000}", "not 5000");
        row("special_tokens_map.json", "{\"pad_token\": 3}", "pad_token");
    }
    void open_broken_configuration_names_file_and_field() {
        QFETCH(QString, file);
        QFETCH(QByteArray, text);
        QFETCH(QString, part);
        const Folder folder;
        folder.write(file.toStdString(), text.toStdString());
        const Error error = folder.error();
        QCOMPARE(error.kind(), ErrorKind::kInvalidModel);
        QVERIFY2(QString(error.what()).contains(part), error.what());
    }

    void open_truncated_model_is_an_error() {
        // The small one at every length, the others at some: a length at which whole
        // records end may load.
        const Folder folder(std::nullopt);
        const std::string small = small_model();
        for (std::size_t n = 0; n < small.size(); ++n) {
            folder.write("tokenizer.model", small.substr(0, n));
            try {
                folder.open()->encode("ab c");
            } catch (const Error& e) {
                QCOMPARE(e.kind(), ErrorKind::kInvalidModel);
            }
        }
        for (const char* name : {"bpe", "unigram"}) {
            const std::string whole = bytes_of(kData / name / "tokenizer.model");
            for (std::size_t n = 0; n < whole.size(); n += whole.size() / 31) {
                folder.write("tokenizer.model", whole.substr(0, n));
                try {
                    folder.open()->encode("ab c");
                } catch (const Error& e) {
                    QCOMPARE(e.kind(), ErrorKind::kInvalidModel);
                }
            }
        }
    }

    void open_mutated_model_is_an_error_or_works() {
        const Folder folder(std::nullopt);
        std::mt19937 random(7);
        const std::string text = "  Caf\u00e9 \uff76\u337f 12 <tool>\n\t<turn>\U0001F469 \u00a0 the actors wait \ufdfa";
        int n_opened = 0;
        for (const char* name : {"bpe", "unigram"}) {
            const std::string whole = bytes_of(kData / name / "tokenizer.model");
            for (int round = 0; round < 60; ++round) {
                std::string bytes = whole;
                for (unsigned k = 0; k <= random() % 4; ++k)
                    bytes[random() % bytes.size()] = static_cast<char>(random());
                folder.write("tokenizer.model", bytes);
                try {
                    const auto tokenizer = folder.open();
                    tokenizer->decode(tokenizer->encode_with_special(text));
                    ++n_opened;
                } catch (const Error& e) {
                    QVERIFY(e.kind() == ErrorKind::kInvalidModel || e.kind() == ErrorKind::kUnsupported ||
                            e.kind() == ErrorKind::kInvalidInput);
                }
            }
        }
        QVERIFY(n_opened > 0);
    }

    void findings_of_fuzzing_end_in_ids_or_an_error() {
        const Folder folder(std::nullopt);
        int n_opened = 0;
        int n_refused = 0;
        for (const auto& entry :
             std::filesystem::directory_iterator(OFFSTAGE_SOURCE_DIR "/tests/fuzz/corpus/fuzz_tokenizer_model")) {
            folder.write("tokenizer.model", bytes_of(entry.path()));
            try {
                const auto tokenizer = folder.open();
                tokenizer->decode(tokenizer->encode_with_special("the actors AFF <turn> <tool>x \u00e9"));
                ++n_opened;
            } catch (const Error&) {
                ++n_refused;
            }
        }
        QVERIFY(n_opened >= 5);
        QVERIFY(n_refused > 0);
    }

    void open_impossible_model_names_what_is_wrong_data() {
        QTest::addColumn<QByteArray>("model");
        QTest::addColumn<QString>("part");
        const auto row = [](const char* name, const std::string& model, const char* part) {
            QTest::addRow("%s", name) << QByteArray::fromStdString(model) << part;
        };
        const std::uint32_t leaf = 1u << 8;
        const auto to = [](std::uint32_t offset) { return offset << 10; };
        row("empty", "", "no pieces");
        row("text", "this is a text and no model", "no valid sentencepiece model");
        row("field 0", std::string("\0\0", 2), "field number");
        row("group", small_model() + "\x0B", "unknown kind");
        row("endless number", small_model() + std::string(11, '\xFF'), "ten bytes");
        row("longer than the file", small_model() + "\x0A\x7F", "middle of a record");
        row("huge length", small_model() + "\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "middle of a record");
        row("empty piece", small_model(field(1, field(1, std::string()))), "piece 4 is empty");
        row("piece without text", small_model(field(1, score(1))), "piece 4 is empty");
        row("text given twice", small_model(field(1, field(1, "x") + field(1, "y"))), "given twice");
        row("nul in a piece", small_model(piece(std::string("x\0y", 3))), "no UTF-8 text");
        row("broken text", small_model(piece("\xFF")), "no UTF-8 text");
        row("long piece", small_model(piece(std::string(2000, 'x'))), "too long");
        row("score is no number", small_model(piece("x", 1, std::numeric_limits<float>::quiet_NaN())),
            "piece 4 has a score");
        row("score is endless", small_model(piece("x", 1, std::numeric_limits<float>::infinity())),
            "piece 4 has a score");
        row("type 0", small_model(piece("x", 0)), "unknown type");
        row("type 7", small_model(piece("x", 7)), "unknown type");
        row("score of the wrong kind", small_model(field(1, field(1, "x") + field(2, 5))), "wrong kind");
        row("twice the same piece", small_model(piece("a")), "no valid sentencepiece model");
        row("two unknowns", small_model(piece("x", 2)), "no valid sentencepiece model");
        row("byte without byte_fallback", small_model(piece("<0x00>", 6)), "no valid sentencepiece model");
        row("no unknown", piece("a"), "no valid sentencepiece model");
        row("byte_fallback without bytes", piece("<unk>", 2) + piece("a") + field(2, field(3, 2) + field(35, 1)),
            "no valid sentencepiece model");
        row("model_type 9", piece("<unk>", 2) + piece("a") + field(2, field(3, 9)), "model_type 9");
        row("two trainer_specs", small_model() + field(2, field(3, 1)), "given twice");
        row("denormalizer", small_model() + field(5, field(2, "x")), "denormalizer_spec");

        std::string nested;
        for (std::size_t n = 1; n <= 70; ++n) nested += piece(std::string(n, 'x'), 4);
        row("user-defined pieces inside one another", small_model(nested), "begin with one another");

        row("map cut short", small_model({}, "abcdefg"), "cut short");
        row("map of no units", small_model({}, unit(0) + "abcd"), "impossible size");
        row("map larger than itself", small_model({}, unit(400) + "abcd"), "impossible size");
        row("map as large as all", small_model({}, unit(4) + "abcd"), "impossible size");
        row("map of odd size", small_model({}, unit(5) + std::string(20, 'x')), "impossible size");
        row("root points out", small_model({}, charsmap(256, {{0, to(256)}}, "r")), "outside of itself");
        row("root points far out", small_model({}, charsmap(256, {{0, 0xFFFFFFFFu}}, "r")), "outside of itself");
        row("child points out", small_model({}, charsmap(512, {{0, to(256)}, {256 + 'a', to(1024) | 'a'}}, "r")),
            "outside of itself");
        row("leaf points out",
            small_model({},
                        charsmap(512, {{0, to(256)}, {256 + 'a', to('a') | leaf | 'a'}, {256, 0x80000000u | 9}}, "r")),
            "outside of itself");
        row("circle", small_model({}, charsmap(512, {{0, to(256)}, {256 + 'a', to('a') | 'a'}}, "r")), "circle");
        row("root is its own child", small_model({}, charsmap(256, {{0, 0}}, "r")), "circle");
        row("long replacement", small_model({}, charsmap(512, {{0, to(256)}}, std::string(300, 'r'))),
            "too long a replacement");
        row("replacement is no text", small_model({}, charsmap(512, {{0, to(256)}}, "\xFF")), "no UTF-8");

        // A chain of blocks, each with one child 'a' that ends a rule.
        std::vector<std::pair<std::size_t, std::uint32_t>> chain = {{0, to(256)}};
        for (std::uint32_t block = 1; block <= 40; ++block) {
            const std::uint32_t here = block * 256 + 'a';
            chain.emplace_back(here, to(here ^ ((block + 1) * 256)) | leaf | 'a');
            chain.emplace_back(block * 256, 0x80000000u);
        }
        row("rules inside one another", small_model({}, charsmap(42 * 256, chain, "r")), "nests too many rules");
    }
    void open_impossible_model_names_what_is_wrong() {
        QFETCH(QByteArray, model);
        QFETCH(QString, part);
        const Folder folder(std::nullopt);
        folder.write("tokenizer.model", model.toStdString());
        const Error error = folder.error();
        QVERIFY2(error.kind() == ErrorKind::kInvalidModel || error.kind() == ErrorKind::kUnsupported, error.what());
        QVERIFY2(QString(error.what()).contains(part), error.what());
        QVERIFY(QString(error.what()).contains("tokenizer.model"));
    }

    void open_small_model_of_ones_own_works() {
        // The errors above are variations of a valid model.
        const Folder folder(std::nullopt);
        folder.write("tokenizer.model", small_model());
        QCOMPARE(folder.open()->encode("ab").back(), 3);
        const std::uint32_t leaf = 1u << 8;
        // 'b' becomes "a"
        const std::string map =
            charsmap(768, {{0, 256u << 10}, {256 ^ 'b', ((256u ^ 'b') ^ 512u) << 10 | leaf | 'b'}, {512, 0x80000000u}},
                     std::string("a\0", 2));
        folder.write("tokenizer.model", small_model({}, map));
        QCOMPARE(folder.open()->encode("ab").back(), 2);
    }
};

QTEST_APPLESS_MAIN(TokenizerTest)
#include "tst_tokenizer.moc"
