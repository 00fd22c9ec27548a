// A model's thinking before its answer: its format and choices from the chat template,
// and replies split into thought and answer while they stream.

#include <filesystem>
#include <fstream>
#include <set>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/session.h"
#include "engine/text/thinking_format.h"
#include "engine/text/thought_splitter.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

// Templates of our own, built as those of the families are.
const std::string kQwenLike =
    "{%- set ns = namespace(last=-1) %}"
    "{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
    "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}"
    "{%- set thought = '' %}{% set text = m.content %}"
    "{%- if m.reasoning_content is string %}{% set thought = m.reasoning_content %}"
    "{%- elif '</think>' in m.content %}{% set text = m.content.split('</think>')[-1].lstrip('\\n') %}{% endif %}"
    "{%- if thought and loop.index0 > ns.last %}{{ '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' }}"
    "{%- endif %}{{ text + '<|im_end|>\\n' }}{% endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
    "{%- endif %}";
const std::string kDeepSeekLike =
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}{{ '<User>' + m['content'] }}"
    "{% elif m['role'] == 'assistant' %}{% set content = m['content'] %}"
    "{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}"
    "{{ '<Assistant>' + content + eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<Assistant><think>\\n' }}{% endif %}";
const std::string kHarmonyLike =
    "{%- if reasoning_effort is not defined %}{% set reasoning_effort = 'medium' %}{% endif %}"
    "{{- '<|start|>system<|message|>Reasoning: ' + reasoning_effort + '<|end|>' }}"
    "{%- for m in messages %}{% if m.role == 'assistant' %}"
    "{%- if loop.last and not add_generation_prompt and m.thinking %}"
    "{{- '<|start|>assistant<|channel|>analysis<|message|>' + m.thinking + '<|end|>' }}{% endif %}"
    "{{- '<|start|>assistant<|channel|>final<|message|>' + m.content + '<|end|>' }}"
    "{%- else %}{{ '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}{% endif %}{% endfor %}"
    "{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}";
const std::string kGemmaLike =
    "{%- if enable_thinking %}{{ '<|turn>system\\n<|think|>\\n<turn|>\\n' }}{% endif %}"
    "{%- for m in messages %}{{ '<|turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' + "
    "m.content.split('<channel|>')[-1] + '<turn|>\\n' }}{% endfor %}"
    "{%- if add_generation_prompt %}{{ '<|turn>model\\n' }}"
    "{%- if not enable_thinking %}{{ '<|channel>thought\\n<channel|>' }}{% endif %}{% endif %}";
const std::string kPlain =
    "{# nothing of <think> here #}{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}";

// A token for each byte, and the special ones from 256 on.
class ByteTokenizer final : public Tokenizer {
  public:
    // Control tokens have no text, the others their name's.
    explicit ByteTokenizer(std::vector<std::string> control, std::vector<std::string> visible = {})
        : special_(std::move(control)), n_control_(special_.size()) {
        special_.insert(special_.end(), visible.begin(), visible.end());
    }
    std::int64_t vocab_size() const override { return 256 + static_cast<std::int64_t>(special_.size()); }
    TokenId bos() const override { return -1; }
    TokenId eos() const override { return -1; }
    std::vector<TokenId> ends() const override { return {}; }
    bool adds_bos() const override { return false; }
    bool adds_eos() const override { return false; }
    std::vector<TokenId> encode(std::string_view text) const override {
        std::vector<TokenId> tokens;
        for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
        return tokens;
    }
    std::vector<TokenId> encode_prompt(const PromptText& prompt, const ChatTemplate*) const override {
        std::vector<TokenId> tokens;
        for (std::string_view text = prompt.bytes; !text.empty();) {
            const std::size_t at = prompt.size() - text.size();
            const auto found = std::find_if(special_.begin(), special_.end(), [&](const std::string& one) {
                return text.starts_with(one) && !prompt.has_data(at, one.size());
            });
            if (found == special_.end()) {
                tokens.push_back(static_cast<unsigned char>(text.front()));
                text.remove_prefix(1);
            } else {
                tokens.push_back(static_cast<TokenId>(256 + (found - special_.begin())));
                text.remove_prefix(found->size());
            }
        }
        return tokens;
    }
    std::vector<TokenId> encode_after(TokenId, std::string_view text, const ChatTemplate*) const override {
        return encode(text);
    }
    std::string decode(std::span<const TokenId>) const override { return {}; }
    std::string piece_bytes(TokenId token) const override {
        return is_control(token) ? std::string() : piece_name(token);
    }
    bool begins_with_space() const override { return false; }
    std::string piece_name(TokenId token) const override {
        return token < 256 ? std::string(1, static_cast<char>(token))
                           : special_.at(static_cast<std::size_t>(token - 256));
    }
    bool is_control(TokenId token) const override {
        return token >= 256 && static_cast<std::size_t>(token - 256) < n_control_;
    }
    TokenId special_token(std::string_view text) const override {
        const auto found = std::find(special_.begin(), special_.end(), text);
        return found == special_.end() ? -1 : static_cast<TokenId>(256 + (found - special_.begin()));
    }

  private:
    std::vector<std::string> special_;
    std::size_t n_control_;
};

struct ThinkingModel {
    std::unique_ptr<ChatTemplate> chat;
    std::unique_ptr<ByteTokenizer> tokenizer;
    ThinkingFormat format;

    ThinkingModel(const std::string& jinja, std::vector<std::string> control, std::vector<std::string> visible = {})
        : chat(ChatTemplate::parse(jinja, "test")),
          tokenizer(std::make_unique<ByteTokenizer>(std::move(control), std::move(visible))),
          format(find_thinking_format(*chat, *tokenizer)) {}

    std::vector<TokenId> prompt(const std::vector<ChatMessage>& messages,
                                const std::vector<TemplateVariable>& variables = {}) const {
        return tokenizer->encode_prompt(chat->render(messages, {"<s>", "</s>"}, true, variables), chat.get());
    }
    std::vector<std::string> choices() const {
        std::vector<std::string> names;
        for (const ThinkingChoice& choice : find_thinking_choices(*chat, {"<s>", "</s>"})) names.push_back(choice.name);
        return names;
    }
};
ThinkingModel qwen() {
    return {kQwenLike, {"<|im_start|>", "<|im_end|>"}, {"<think>", "</think>"}};
}
ThinkingModel deepseek() {
    return {kDeepSeekLike, {"<User>", "<Assistant>"}};
}  // its markers are no tokens
ThinkingModel harmony() {
    return {kHarmonyLike, {"<|start|>", "<|end|>", "<|message|>", "<|channel|>"}};
}
ThinkingModel gemma() {
    return {kGemmaLike, {"<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>"}};
}

struct Split {
    std::string thought, answer;
    bool open = false;
    bool operator==(const Split&) const = default;
};

char* toString(const Split& split) {
    return QTest::toString(QStringLiteral("thought [%1] answer [%2]%3")
                               .arg(QString::fromStdString(split.thought), QString::fromStdString(split.answer),
                                    split.open ? QStringLiteral(" open") : QString()));
}

// The streamed text must equal the final text.
Split split(const ThinkingModel& family, const std::vector<TokenId>& reply, bool in_thought = false) {
    ThoughtSplitter splitter(family.format, in_thought);
    Split streamed;
    const auto add = [&](const ThoughtSplitter::Piece& piece) {
        if (piece.text_was_thought) streamed = {};
        streamed.thought += piece.thought;
        streamed.answer += piece.answer;
        if (find_invalid_utf8(piece.thought) != std::string::npos ||
            find_invalid_utf8(piece.answer) != std::string::npos)
            streamed.answer += "[a character is split]";
    };
    for (const TokenId token : reply) add(splitter.push(token, family.tokenizer->piece_bytes(token)));
    add(splitter.finish());
    streamed.open = splitter.in_thought();
    if (splitter.thought() != streamed.thought || splitter.answer() != streamed.answer)
        streamed.answer += "[streamed otherwise]";
    return streamed;
}
Split split(const ThinkingModel& family, const std::string& reply, bool in_thought = false) {
    return split(family, family.tokenizer->encode_with_special(reply), in_thought);
}

// For a family whose markers are plain text: the reply cut into tokens at these places.
Split split_at(const ThinkingModel& family, const std::string& reply, const std::vector<std::size_t>& cuts,
               bool in_thought) {
    ThoughtSplitter splitter(family.format, in_thought);
    Split out;
    std::size_t from = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
        const std::size_t to = i < cuts.size() ? cuts[i] : reply.size();
        const auto piece = splitter.push(7, reply.substr(from, to - from));
        out.thought += piece.thought;
        out.answer += piece.answer;
        from = to;
    }
    const auto piece = splitter.finish();
    out.thought += piece.thought;
    out.answer += piece.answer;
    out.open = splitter.in_thought();
    return out;
}

std::string text_of(const ThinkingModel& family, const std::vector<TokenId>& tokens) {
    std::string text;
    for (const TokenId token : tokens) text += family.tokenizer->piece_name(token);
    return text;
}

std::string begun_text(const ThinkingModel& family, const ChatMessage& begun, PromptEnd end) {
    std::string text;
    for (const ReplyPart& part : begun_reply(family.format, begun, end))
        text += part.marker >= 0 ? family.tokenizer->piece_name(part.marker) : part.text;
    return text;
}

// The demo model with another chat template, which begins each reply with a thought.
class ThinkingDemo {
  public:
    ThinkingDemo() {
        const std::filesystem::path from = demoModel();
        for (const char* name : {"config.json", "model.safetensors", "tokenizer.model", "tokenizer_config.json",
                                 "special_tokens_map.json", "generation_config.json"}) {
            std::filesystem::create_symlink(from / name, path() / name);
        }
        std::ofstream(path() / "chat_template.jinja")
            << "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' }}"
               "{% if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}"
               "{{ m.content + ('</s>' if m.role == 'assistant' else '') }}{% endfor %}"
               "{% if add_generation_prompt %}<|assistant|>{{ '' if enable_thinking is defined and not enable_thinking "
               "else '<think>' }}{% endif %}";
    }
    std::filesystem::path path() const { return dir_.path().toStdString(); }

  private:
    QTemporaryDir dir_;
};

}  // namespace

class TestThinking : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void formats_areFoundInTemplateAndTokens() {
        using Kind = ThinkingFormat::Kind;
        QVERIFY(qwen().format.kind == Kind::kTags);
        QCOMPARE(qwen().format.open.text, std::string("<think>"));
        QVERIFY(qwen().format.open.token >= 0 && qwen().format.close.token >= 0);
        QVERIFY(deepseek().format.kind == Kind::kTags);
        QCOMPARE(deepseek().format.open.token, -1);
        QVERIFY(harmony().format.kind == Kind::kHarmony);
        QVERIFY(gemma().format.kind == Kind::kTags);
        QCOMPARE(gemma().format.channel, std::string("thought"));
        // A template without thoughts, for which tokens decide; a comment does not count.
        QVERIFY(!ThinkingModel(kPlain, {}).format.any());
        QVERIFY(!ThinkingModel(kPlain, {}, {"<think>"}).format.any());
        QVERIFY(ThinkingModel(kPlain, {}, {"<think>", "</think>"}).format.open.token >= 0);
        QVERIFY(ThinkingModel(kPlain, {"[THINK]", "[/THINK]"}).format.kind == Kind::kTags);
        // Channels without their tokens are plain text.
        QVERIFY(!ThinkingModel(kHarmonyLike, {"<|start|>", "<|end|>"}).format.any());
        QVERIFY(!ThinkingModel(kGemmaLike, {"<|turn>", "<turn|>"}).format.any());
    }

    void choices_areThoseByWhichPromptsDiffer() {
        using Names = std::vector<std::string>;
        QCOMPARE(qwen().choices(), (Names{"off", "on"}));
        QCOMPARE(gemma().choices(), (Names{"off", "on"}));
        QCOMPARE(harmony().choices(), (Names{"low", "medium", "high"}));
        QVERIFY(deepseek().choices().empty());
        QVERIFY(ThinkingModel(kPlain, {}).choices().empty());
        QVERIFY(ThinkingModel("{% set enable_thinking = true %}{{ enable_thinking }}", {}).choices().empty());
        QCOMPARE(ThinkingModel("{% if enable_thinking %}think {{ reasoning_effort }}{% endif %}", {}).choices(),
                 (Names{"off", "low", "medium", "high"}));
        QCOMPARE(ThinkingModel("{% if reasoning_effort == 'medium' %}{{ raise_exception('no') }}{% endif %}"
                               "{{ reasoning_effort }}",
                               {})
                     .choices(),
                 (Names{"low", "high"}));
        const auto choices = find_thinking_choices(*harmony().chat, {});
        const std::string prompt =
            harmony().chat->render({{Role::kUser, "Hi"}}, {}, true, choices.at(2).variables).bytes;
        QVERIFY2(prompt.find("Reasoning: high") != std::string::npos, prompt.c_str());
    }

    void thoughts_areLeftOutWhereTheTemplateLeavesThemOut() {
        const std::vector<ChatMessage> messages = {
            {Role::kUser, "A?"}, {Role::kAssistant, "B.", "secret", false}, {Role::kUser, "C?"}};
        for (const ThinkingModel& family : {qwen(), deepseek(), harmony(), gemma()}) {
            const std::string text = text_of(family, family.prompt(messages));
            QVERIFY2(text.find("secret") == std::string::npos, text.c_str());
            QVERIFY2(text.find("B.") != std::string::npos, text.c_str());
        }
        // If the template needs it, under its name.
        const std::vector<ChatMessage> unanswered(messages.begin(), messages.begin() + 2);
        QVERIFY(qwen().chat->render(unanswered, {}, false).bytes.find("<think>\nsecret\n</think>\n\nB.") !=
                std::string::npos);
        QVERIFY(harmony().chat->render(unanswered, {}, false).bytes.find("analysis<|message|>secret") !=
                std::string::npos);
    }

    void promptsThatBeginAThought_areKnown() {
        const std::vector<ChatMessage> ask = {{Role::kUser, "Say <think>"}};
        const auto end = [&](const ThinkingModel& family, const std::vector<TemplateVariable>& variables = {}) {
            return static_cast<int>(end_of_prompt(family.format, *family.tokenizer, family.prompt(ask, variables)));
        };
        QCOMPARE(end(qwen()), static_cast<int>(PromptEnd::kReply));
        QCOMPARE(end(qwen(), {{"enable_thinking", false}}), static_cast<int>(PromptEnd::kAfterThought));
        QCOMPARE(end(deepseek()), static_cast<int>(PromptEnd::kInThought));
        QCOMPARE(end(harmony()), static_cast<int>(PromptEnd::kReply));
        QCOMPARE(end(gemma(), {{"enable_thinking", true}}), static_cast<int>(PromptEnd::kReply));
        QCOMPARE(end(gemma()), static_cast<int>(PromptEnd::kAfterThought));
        // The user's last text is not the template's.
        const ThinkingModel bare("{{ '<think>' if false }}{% for m in messages %}{{ m.content + '<e>' }}{% endfor %}",
                                 {"<e>"});
        QVERIFY(bare.format.any());
        QCOMPARE(end(bare), static_cast<int>(PromptEnd::kReply));
    }

    void replies_arePartedByTokens_data() {
        QTest::addColumn<int>("family");  // 0 Qwen, 1 gpt-oss, 2 Gemma, 3 none
        QTest::addColumn<QString>("reply");
        QTest::addColumn<QString>("thought");
        QTest::addColumn<QString>("answer");
        QTest::addColumn<bool>("open");
        const auto row = [](const char* name, int family, const char* reply, const char* thought, const char* answer,
                            bool open = false) {
            QTest::newRow(name) << family << QString::fromUtf8(reply) << QString::fromUtf8(thought)
                                << QString::fromUtf8(answer) << open;
        };
        row("tags", 0, "<think>\nIt is späť.\n\nSo:\n</think>\n\nYes — 5.", "It is späť.\n\nSo:", "Yes — 5.");
        row("tags, no thought", 0, "  Yes.\n", "", "  Yes.\n");
        row("tags, nothing", 0, "", "", "");
        row("tags, white space only", 0, " \n", "", " \n");
        row("tags, empty thought", 0, "<think>\n\n</think>\n\nYes.", "", "Yes.");
        row("tags, cut short", 0, "<think>\nIt is", "It is", "", true);
        row("tags, a fence left open", 0, "<think>a\n```\ncode\n</think>\n\nYes.", "a\n```\ncode", "Yes.");
        row("tags, in code within a line", 0, "<think>The tag `</think>` ends ``a ` </think> b``.\n</think>\nYes.",
            "The tag `</think>` ends ``a ` </think> b``.", "Yes.");
        row("tags, a backtick that nothing ends", 0, "<think>I don`t.</think>\n\nYes, `so`.", "I don`t.", "Yes, `so`.");
        row("tags, a backtick, and no line behind", 0, "<think>I don`t.</think>Yes.", "I don`t.", "Yes.");
        row("tags, cut short behind a backtick", 0, "<think>I don`t.</think>", "I don`t.", "");
        row("tags, in a fence", 0, "<think>a\n```\nx = '</think>'\n```</think>Yes.", "a\n```\nx = '</think>'\n```",
            "Yes.");
        row("Gemma, in code", 2, "<|channel>thought\nIt is `<channel|>`.\n<channel|>Yes.", "It is `<channel|>`.",
            "Yes.");
        row("tags, in the answer's code", 0, "<think>x</think>Use\n```\n<think>\n```\nor `<think>` so.", "x",
            "Use\n```\n<think>\n```\nor `<think>` so.");
        row("tags, in a line", 0, "<think>x</think>The tag <think> begins.", "x", "The tag <think> begins.");
        row("tags, a second thought", 0, "<think>x</think>One.\n<think>y</think>\nTwo.", "x\n\ny", "One.\n\nTwo.");
        row("tags, an end without a beginning", 0, "</think>Yes. </think>", "", "Yes. </think>");
        row("harmony", 1,
            "<|channel|>analysis<|message|>Think — so.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
            "Think — so.", "Yes.");
        row("harmony, two thoughts and a preamble", 1,
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>I look."
            "<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>final"
            "<|message|>Yes.",
            "a\n\nb", "I look.\n\nYes.");
        row("harmony, the answer at once", 1, "<|channel|>final<|message|>Yes.", "", "Yes.");
        row("harmony, without channels", 1, "Yes.", "", "Yes.");
        row("harmony, cut short", 1, "<|channel|>analysis<|message|>a b", "a b", "", true);
        row("harmony, cut in a header", 1, "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>fin",
            "a", "");
        row("Gemma", 2, "<|channel>thought\nSo.\n<channel|>Yes.", "So.", "Yes.");
        row("Gemma, empty", 2, "<|channel>thought\n<channel|>Yes.", "", "Yes.");
        row("Gemma, without its word", 2, "<|channel>those are\n<channel|>Yes.", "those are", "Yes.");
        row("Gemma, without a thought", 2, "Yes.", "", "Yes.");
        row("no format", 3, "<think>\nx</think>y", "", "<think>\nx</think>y");
    }
    void replies_arePartedByTokens() {
        QFETCH(int, family);
        QFETCH(QString, reply);
        QFETCH(QString, thought);
        QFETCH(QString, answer);
        QFETCH(bool, open);
        const ThinkingModel used = family == 0   ? qwen()
                                   : family == 1 ? harmony()
                                   : family == 2 ? gemma()
                                                 : ThinkingModel(kPlain, {});
        QCOMPARE(split(used, reply.toStdString()), (Split{thought.toStdString(), answer.toStdString(), open}));
    }

    void thoughtsThatNoTagBegins_endAtTheClosingOne_data() {
        QTest::addColumn<bool>("token");
        QTest::newRow("a token") << true;
        QTest::newRow("a text") << false;
    }
    void thoughtsThatNoTagBegins_endAtTheClosingOne() {
        QFETCH(bool, token);
        const ThinkingModel family(
            "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content.split('</think>')[-1] }}{% endfor %}"
            "{{ '<|im_start|>assistant\n' }}",
            token ? std::vector<std::string>{"<|im_start|>", "</think>"} : std::vector<std::string>{"<|im_start|>"});
        const auto prompt = family.prompt({{Role::kUser, "Hi"}});
        QVERIFY(end_of_prompt(family.format, *family.tokenizer, prompt) == PromptEnd::kInThought);
        QCOMPARE(split(family, "Let me see.</think>\n\nFour.", true), (Split{"Let me see.", "Four.", false}));
        QCOMPARE(split(family, "a `</think>`b\n</think>x", true), (Split{"a `</think>`b", "x", false}));
        // A model that opens it nevertheless, and one that does not think at all.
        QCOMPARE(split(family, "<think>\nSo.\n</think>\nFour.", true), (Split{"So.", "Four.", false}));
        QCOMPARE(split(family, "<think>\nSo", true), (Split{"So", "", true}));
        // Where it was cut, it may still have come to its end.
        ThoughtSplitter cut(family.format, true);
        cut.push(-1, "So");
        QCOMPARE(cut.finish(true).answer, std::string());
        QCOMPARE(cut.thought(), std::string("So"));
        QVERIFY(cut.in_thought());
        ThoughtSplitter splitter(family.format, true);
        for (const char c : std::string("Four.")) splitter.push(static_cast<TokenId>(c), std::string(1, c));
        QCOMPARE(splitter.finish().answer, std::string("Four."));
        QCOMPARE(splitter.answer(), std::string("Four."));
        QVERIFY(splitter.thought().empty() && !splitter.in_thought());
        // Gone on with, it is closed as the prompt has begun it.
        ChatMessage begun{Role::kAssistant, "Fo"};
        begun.thought = "So.";
        QCOMPARE(begun_text(family, begun, PromptEnd::kInThought), std::string("So.\n</think>\n\nFo"));
    }

    // The template has no tags, the vocabulary has both, and the model writes the closing
    // one alone.
    void thoughtsThatNothingAnnounces_areTakenOutOfTheAnswer_data() {
        QTest::addColumn<QString>("reply");
        QTest::addColumn<QString>("thought");
        QTest::addColumn<QString>("answer");
        const auto row = [](const char* name, const char* reply, const char* thought, const char* answer) {
            QTest::newRow(name) << QString::fromUtf8(reply) << QString::fromUtf8(thought) << QString::fromUtf8(answer);
        };
        row("closed", " Let me see.\n</think>\n\nFour.", "Let me see.", "Four.");
        row("within a line", "So.</think>Four.", "So.", "Four.");
        row("with code", "`x`\n```\ny\n```\n</think>Four.", "`x`\n```\ny\n```", "Four.");
        row("opened and closed", "<think>So.</think>Four.", "So.", "Four.");
        row("no thought", " Four.\n", "", " Four.\n");
        row("an empty one", "\n</think>\nFour. </think> is the tag.", "", "Four. </think> is the tag.");
        row("the tag in code", "Write `</think>` or\n```\n</think>\n```\n.", "",
            "Write `</think>` or\n```\n</think>\n```\n.");
        row("the tag in the answer", "So.</think>The </think> ends it.", "So.", "The </think> ends it.");
        row("a second one", "a</think>b\n<think>c</think>\nd", "a\n\nc", "b\n\nd");
    }
    void thoughtsThatNothingAnnounces_areTakenOutOfTheAnswer() {
        QFETCH(QString, reply);
        QFETCH(QString, thought);
        QFETCH(QString, answer);
        const ThinkingModel family(kPlain, {}, {"<think>", "</think>"});
        QCOMPARE(split(family, reply.toStdString()), (Split{thought.toStdString(), answer.toStdString(), false}));
    }
    // A model that goes on thinking behind the end that it was given, and then ends it.
    void secondEndOfAThought_isNoText_data() {
        QTest::addColumn<int>("family");
        QTest::addColumn<QString>("reply");
        QTest::addColumn<QString>("answer");
        QTest::newRow("token") << 0 << "I see.\n</think>\n\nFour."
                               << "I see.\n\n\nFour.";
        QTest::newRow("text") << 1 << "I see.\n</think>\n\nFour."
                              << "I see.\n\n\nFour.";
        QTest::newRow("at once") << 0 << "</think>\n\nFour."
                                 << "Four.";
        QTest::newRow("once") << 1 << "a</think>b</think>"
                              << "ab</think>";
        QTest::newRow("in code") << 0 << "`</think>` ends it.</think> So."
                                 << "`</think>` ends it. So.";
        QTest::newRow("none") << 1 << "Four. </thin"
                              << "Four. </thin";
    }
    void secondEndOfAThought_isNoText() {
        QFETCH(int, family);
        QFETCH(QString, reply);
        QFETCH(QString, answer);
        const ThinkingModel model = family == 0 ? qwen() : deepseek();
        ThoughtSplitter splitter(model.format, true);
        const auto push = [&](const std::string& text) {
            std::string shown;
            for (const TokenId token : model.tokenizer->encode_with_special(text)) {
                shown += splitter.push(token, model.tokenizer->piece_bytes(token)).answer;
            }
            return shown;
        };
        push("Let me");
        splitter.expect_second_end();
        push("</think>\n\n");
        std::string streamed = push(reply.toStdString());
        streamed += splitter.finish().answer;
        QCOMPARE(QString::fromStdString(streamed), answer);
        QCOMPARE(splitter.thought(), std::string("Let me"));
    }

    // What a person or the request wrote stays the answer.
    void givenText_isNeverAThought() {
        const ThinkingModel family(kPlain, {}, {"<think>", "</think>"});
        const TokenId close = family.format.close.token;
        ThoughtSplitter after(family.format);
        after.resume({Role::kAssistant, "One"});
        after.push(-1, " two");
        QCOMPARE(after.push(close, "</think>").answer, std::string("</think>"));
        ThoughtSplitter begun(family.format);
        begun.push(-1, "One");
        begun.forget_text();
        QCOMPARE(begun.push(close, "</think>").answer, std::string("</think>"));
    }

    // The prompt ends with the opening tag, and the model writes it again.
    void anOpeningThatIsRepeated_isNoPartOfTheThought() {
        const auto as_token = [](const std::string& reply) { return split(qwen(), reply, true); };
        QCOMPARE(as_token("<think>\nSo.</think>Four."), (Split{"So.", "Four.", false}));
        QCOMPARE(as_token("\n<think>So <think> is a tag.</think>Four."),
                 (Split{"So <think> is a tag.", "Four.", false}));
        QCOMPARE(split(qwen(), "<think><think>So.</think>Four."), (Split{"So.", "Four.", false}));
        QCOMPARE(split(deepseek(), "<think>\nSo.</think>Four.", true), (Split{"So.", "Four.", false}));
        QCOMPARE(split(deepseek(), "<thin air>.</think>Four.", true), (Split{"<thin air>.", "Four.", false}));
        QCOMPARE(split(gemma(), "<|channel>thought\nSo.<channel|>Four.", true), (Split{"So.", "Four.", false}));
        QCOMPARE(split(qwen(), "<think>", true), (Split{"", "", true}));
    }

    // Markers of several tokens: the reply may be cut in any way, into two or three
    // tokens or into bytes.
    void replies_arePartedByText_atEveryBoundary_data() {
        QTest::addColumn<QString>("reply");
        QTest::addColumn<QString>("thought");
        QTest::addColumn<QString>("answer");
        QTest::addColumn<bool>("inThought");
        const auto row = [](const char* name, const char* reply, const char* thought, const char* answer, bool in) {
            QTest::newRow(name) << QString::fromUtf8(reply) << QString::fromUtf8(thought) << QString::fromUtf8(answer)
                                << in;
        };
        row("begun by the prompt", "Ich prüfe: a<b, </thin\n</think>\n\nJa — 5.", "Ich prüfe: a<b, </thin", "Ja — 5.",
            true);
        row("begun by the reply", "\n<think>\n x \n</think>\n\n<b>Ja", "x", "<b>Ja", false);
        row("none", "<thing> is\nno <think> here.\n", "", "<thing> is\nno <think> here.\n", false);
        row("code in the thought", "a\n```\n</think>\n```\nb\n</think>\nJa", "a\n```\n</think>\n```\nb", "Ja", true);
        row("inline code in the thought", "I end with `</think>` now.</think>\nJa", "I end with `</think>` now.", "Ja",
            true);
        row("a backtick that nothing ends", "I don`t.</think> Ja.\n\n`b`", "I don`t.", "Ja.\n\n`b`", true);
        row("behind a fence", "a\n```\nb\n``` </think>Ja", "a\n```\nb\n```", "Ja", true);
        row("code in the answer", "<think>x</think>a\n~~~ html\n<think>\n~~~\n  <think>y</think>\nb", "x\n\ny",
            "a\n~~~ html\n<think>\n~~~\n  \nb", false);
        row("white space of the answer stays", "x</think>\n\n a  b \n", "x", "a  b \n", true);
    }
    void replies_arePartedByText_atEveryBoundary() {
        QFETCH(QString, reply);
        QFETCH(QString, thought);
        QFETCH(QString, answer);
        QFETCH(bool, inThought);
        const ThinkingModel family = deepseek();
        const std::string bytes = reply.toStdString();
        const Split expected{thought.toStdString(), answer.toStdString(), false};
        QCOMPARE(split(family, family.tokenizer->encode(bytes), inThought), expected);
        for (std::size_t a = 0; a <= bytes.size(); ++a) {
            for (std::size_t b = a; b <= bytes.size(); ++b) {
                const Split now = split_at(family, bytes, {a, b}, inThought);
                if (now != expected) QCOMPARE(now, expected);
            }
        }
    }

    void aFenceThatNeverEnds_doesNotTakeTheAnswer() {
        const ThinkingModel family = deepseek();
        ThoughtSplitter splitter(family.format, true);
        splitter.push(7, "so:\n```\ncode\n</think>\n\nYes.");
        QVERIFY(splitter.in_thought());
        QCOMPARE(splitter.finish().answer, std::string("Yes."));
        QCOMPARE(splitter.thought(), std::string("so:\n```\ncode"));
        QCOMPARE(splitter.answer(), std::string("Yes."));
        QVERIFY(!splitter.in_thought());
    }

    // A reply that is cut anywhere, and continued, is split as if it had not been cut.
    void continuedReplies_goOnWhereTheyWere() {
        const std::pair<ThinkingModel, std::string> cases[] = {
            {qwen(), "<think>\nOne two.\n</think>\n\nThree `f` four.\n```\n<think>\n```"},
            {harmony(),
             "<|channel|>analysis<|message|>One two.<|end|><|start|>assistant<|channel|>final<|message|>Three"},
            {gemma(), "<|channel>thought\nOne two.<channel|>Three four."}};
        for (const auto& [family, reply] : cases) {
            const std::vector<TokenId> tokens = family.tokenizer->encode_with_special(reply);
            const Split whole = split(family, tokens);
            for (std::size_t cut = 0; cut <= tokens.size(); ++cut) {
                ThoughtSplitter before(family.format);
                for (std::size_t i = 0; i < cut; ++i) before.push(tokens[i], family.tokenizer->piece_bytes(tokens[i]));
                before.finish();
                const ChatMessage begun{Role::kAssistant, before.answer(), before.thought(), before.in_thought()};
                if (begun.content.empty() && begun.thought.empty()) continue;
                // The continuation's prompt ends with the model's text, except for white
                // space and headers that were cut.
                const std::string prompt = begun_text(family, begun, PromptEnd::kReply);
                QVERIFY2(reply.starts_with(prompt) || prompt.starts_with(reply.substr(0, prompt.size())),
                         (prompt + " | " + reply).c_str());
                const std::size_t done = std::min(prompt.size(), reply.size());
                ThoughtSplitter after(family.format);
                after.resume(begun);
                for (const TokenId token : family.tokenizer->encode_with_special(reply.substr(done)))
                    after.push(token, family.tokenizer->piece_bytes(token));
                after.finish();
                const Split joined{begun.thought + after.thought(), begun.content + after.answer(), after.in_thought()};
                if (joined != whole) {
                    qInfo("cut at %zu", cut);
                    QCOMPARE(joined, whole);
                }
            }
        }
    }

    void continuedPrompts_keepTheThought() {
        const ChatMessage open{Role::kAssistant, "", "So", true}, done{Role::kAssistant, "Yes", "So", false},
            plain{Role::kAssistant, "Yes"};
        QCOMPARE(begun_text(deepseek(), open, PromptEnd::kInThought), std::string("So"));
        QCOMPARE(begun_text(deepseek(), done, PromptEnd::kInThought), std::string("So\n</think>\n\nYes"));
        QCOMPARE(begun_text(deepseek(), plain, PromptEnd::kInThought), std::string("\n</think>\n\nYes"));
        QCOMPARE(begun_text(qwen(), plain, PromptEnd::kReply), std::string("Yes"));
        QCOMPARE(begun_text(qwen(), done, PromptEnd::kAfterThought), std::string("Yes"));
        QCOMPARE(begun_text(qwen(), open, PromptEnd::kAfterThought), std::string("<think>\nSo"));
        QCOMPARE(begun_text(harmony(), plain, PromptEnd::kReply), std::string("<|channel|>final<|message|>Yes"));
        QCOMPARE(begun_text(ThinkingModel(kPlain, {}), plain, PromptEnd::kReply), std::string("Yes"));
    }

    // After such an end the model is to write its answer.
    void endsOfThoughts_endThem() {
        for (const ThinkingModel& family : {qwen(), harmony(), gemma()}) {
            ThoughtSplitter splitter(family.format);
            const auto push = [&](const ReplyPart& part) {
                if (part.marker >= 0) {
                    splitter.push(part.marker, family.tokenizer->piece_bytes(part.marker));
                    return;
                }
                for (const TokenId token : family.tokenizer->encode(part.text))
                    splitter.push(token, family.tokenizer->piece_bytes(token));
            };
            const ChatMessage open{Role::kAssistant, "", "Let me see.", true};
            for (const ReplyPart& part : begun_reply(family.format, open, PromptEnd::kReply)) push(part);
            QVERIFY(splitter.in_thought());
            for (const ReplyPart& part : end_of_thought(family.format)) push(part);
            QVERIFY(!splitter.in_thought());
            push({"Four", -1});
            splitter.finish();
            QVERIFY(splitter.thought().ends_with("me see."));
            QVERIFY2(splitter.answer().ends_with("Four"), splitter.answer().c_str());
        }
    }

    void aSession_endsALongThought() {
        const ThinkingDemo demo;
        LoadRequest load;
        load.model = demo.path().string();
        const auto session = Session::create();
        session->load(load, {}, {});
        GenerationRequest request;
        request.messages = {{Role::kUser, "What is 3 plus 4?"}};
        request.sampler.temperature = 0;
        request.ignore_end = true;
        request.max_tokens = 20;
        const GenerationResult free = session->generate(request, {}, {});
        QVERIFY(free.thought_is_open);
        request.max_thought_tokens = 3;
        const GenerationResult bound = session->generate(request, {}, {});
        QVERIFY(!bound.thought_is_open);
        QVERIFY(bound.thought_tokens < 20);
        QVERIFY(!bound.text.empty());
        QCOMPARE(bound.tokens.size(), std::size_t{20});
        QVERIFY(std::equal(bound.tokens.begin(), bound.tokens.begin() + 3, free.tokens.begin()));
        QVERIFY(bound.tokens != free.tokens);
        request.max_thought_tokens = 20;  // not reached
        QCOMPARE(session->generate(request, {}, {}).tokens, free.tokens);
    }

    void aSession_thinks_andContinues() {
        const ThinkingDemo demo;
        LoadRequest load;
        load.model = demo.path().string();
        load.compute = ComputeMode::kF32;
        const auto session = Session::create();
        const ModelSummary model = session->load(load, {}, {});
        QVERIFY(model.thinks);
        QCOMPARE(model.thinking_choices, (std::vector<std::string>{"off", "on"}));

        GenerationRequest request;
        request.messages = {{Role::kUser, "What is 3 plus 4?"}};
        request.sampler.temperature = 0;
        request.max_tokens = 6;
        request.ignore_end = true;
        std::string thought, text;
        std::int64_t thinking = 0;
        const auto collect = [&](const TextDelta& delta) {
            (delta.is_thinking ? thought : text) += delta.text;
            thinking += delta.is_thinking && delta.token >= 0 ? 1 : 0;
        };
        const GenerationResult first = session->generate(request, collect, {});
        QVERIFY(first.thought_is_open);
        QVERIFY(!first.thought.empty());
        QCOMPARE(first.text, std::string());
        QCOMPARE(thought, first.thought);
        QCOMPARE(text, std::string());
        QCOMPARE(thinking, std::int64_t{6});
        QCOMPARE(first.thought_tokens, std::int64_t{6});

        // A continued answer: the thought is in the prompt, and continues.
        GenerationRequest more = request;
        more.messages.push_back({Role::kAssistant, "", first.thought, true});
        more.continue_last = true;
        const GenerationResult second = session->generate(more, {}, {});
        QVERIFY(second.thought_is_open);
        QCOMPARE(second.prompt_tokens, first.prompt_tokens + 6);
        QVERIFY(second.reused_tokens >= first.prompt_tokens);
        more.messages.back() = {Role::kAssistant, "It is", first.thought, false};
        const GenerationResult third = session->generate(more, {}, {});
        QCOMPARE(third.thought, std::string());
        QVERIFY(!third.text.empty());
        QVERIFY(!third.thought_is_open);

        // Without, by the user's choice.
        request.thinking = "off";
        const GenerationResult off = session->generate(request, {}, {});
        QCOMPARE(off.thought, std::string());
        QVERIFY(!off.text.empty());
        QCOMPARE(off.thought_tokens, std::int64_t{0});
        request.thinking = "hard";
        try {
            session->generate(request, {}, {});
            QFAIL("taken");
        } catch (const Error& error) {
            QVERIFY(std::string(error.what()).find("off, on") != std::string::npos);
        }
        // Several at once, and beams, are parted too.
        request.thinking = "on";
        request.n_answers = 2;
        const GenerationResult several = session->generate(request, {}, {});
        QCOMPARE(several.answers.size(), std::size_t{2});
        for (const Answer& answer : several.answers) {
            QCOMPARE(answer.text, std::string());
            QVERIFY(!answer.thought.empty());
        }
        QCOMPARE(several.thought, several.answers.front().thought);
        QVERIFY(several.thought_is_open);
    }
};

QTEST_GUILESS_MAIN(TestThinking)
#include "tst_thinking.moc"
