// The caches of other programs, imitated in a separate folder: the found models, their
// names, and which can be opened.

#include <cstdlib>
#include <fstream>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/eval/logits.h"
#include "engine/files/gguf_file.h"
#include "engine/model/model_files.h"
#include "engine/model/model_finder.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/loaded_model.h"
#include "engine/run/model_defaults.h"
#include "engine/run/model_shape.h"
#include "engine/run/model_text.h"
#include "engine/run/session.h"
#include "engine/run/template_choice.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/errors.h"
#include "tests/engine/gguf_writer.h"
#include "tests/engine/mixed_gguf.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;
using offstage::tests::GgufWriter;
namespace fs = std::filesystem;

namespace {

constexpr const char* kDigest = "0123456789abcdef";

fs::path tinyGguf() {
    return sourcePath(QStringLiteral("tests/engine/data/gguf/qwen3_moe_bf16.gguf")).toStdString();
}
fs::path tinyFolder() {
    return tinyModel(QStringLiteral("qwen3_moe_bf16"));
}

void writeText(const fs::path& path, std::string_view text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}
void copyTo(const fs::path& from, const fs::path& to) {
    fs::create_directories(to.parent_path());
    fs::copy_file(from, to);
}
void linkTo(const fs::path& target, const fs::path& from) {
    fs::create_directories(from.parent_path());
    fs::create_symlink(target, from);
}

// A search reads only the header of a model that is not supported.
GgufWriter header(const std::string& architecture, std::uint32_t experts) {
    GgufWriter writer;
    writer.add("general.architecture", architecture).add(architecture + ".block_count", std::uint32_t{48});
    if (experts > 0) writer.add(architecture + ".expert_count", experts);
    writer.add_floats("token_embd.weight", {2, 2}, {1, 2, 3, 4});
    return writer;
}
void writeHeader(const fs::path& path, const GgufWriter& writer) {
    fs::create_directories(path.parent_path());
    writer.write(path);
}

std::string manifest(const std::string& digest) {
    return R"({"schemaVersion": 2, "layers": [
      {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:ffff", "size": 3},
      {"mediaType": "application/vnd.ollama.image.model", "digest": ")" +
           digest + R"(", "size": 9}]})";
}

std::string englishOf(const std::vector<Message>& notes) {
    std::string text;
    for (const Message& note : notes) text += (text.empty() ? "" : " ") + note.english();
    return text;
}

QStringList namesOf(const FoundModels& found) {
    QStringList names;
    for (const FoundModel& model : found.models) {
        names << QString::fromStdString(model.name) + (model.supported() ? QString() : QStringLiteral(" (not)"));
    }
    return names;
}

// Sets variables of the environment for a while; nullptr takes one away.
class Environment {
  public:
    explicit Environment(const std::vector<std::pair<std::string, const char*>>& values) {
        for (const auto& [name, value] : values) {
            const char* const old = std::getenv(name.c_str());
            old_[name] = old == nullptr ? std::optional<std::string>() : std::string(old);
            set(name, value);
        }
    }
    ~Environment() {
        for (const auto& [name, value] : old_) set(name, value ? value->c_str() : nullptr);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    static void set(const std::string& name, const char* value) {
        if (value == nullptr) {
            unsetenv(name.c_str());
        } else {
            setenv(name.c_str(), value, 1);
        }
    }
    std::map<std::string, std::optional<std::string>> old_;
};

}  // namespace

class TestModelFinder : public QObject {
    Q_OBJECT

  private:
    fs::path root(const char* inside = "") const { return fs::path(folder_->path().toStdString()) / inside; }
    FoundModels find(ModelOrigin origin, const fs::path& folder) const {
        const std::vector<ModelPlace> places = {{origin, folder}};
        return find_models(places);
    }

    std::unique_ptr<QTemporaryDir> folder_;

  private Q_SLOTS:
    void init() { folder_ = std::make_unique<QTemporaryDir>(); }

    void places_followTheEnvironment() {
        const auto at = [](ModelOrigin origin) {
            QStringList folders;
            for (const ModelPlace& place : model_places()) {
                if (place.origin == origin) folders << QString::fromStdString(place.folder.string());
            }
            return folders.join(u' ');
        };
        const Environment usual({{"HOME", "/home/a"},
                                 {"XDG_CACHE_HOME", nullptr},
                                 {"HF_HOME", nullptr},
                                 {"HF_HUB_CACHE", nullptr},
                                 {"LLAMA_CACHE", nullptr},
                                 {"OLLAMA_MODELS", nullptr}});
        QCOMPARE(at(ModelOrigin::kHuggingFace), "/home/a/.cache/huggingface/hub");
        QCOMPARE(at(ModelOrigin::kLmStudio), "/home/a/.lmstudio/models /home/a/.cache/lm-studio/models");
        QCOMPARE(at(ModelOrigin::kLlamaCpp), "/home/a/.cache/llama.cpp");
        QCOMPARE(at(ModelOrigin::kOllama), "/home/a/.ollama/models /usr/share/ollama/.ollama/models");
        {
            const Environment cache({std::pair{"XDG_CACHE_HOME", "/c"}});
            QCOMPARE(at(ModelOrigin::kHuggingFace), "/c/huggingface/hub");
            QCOMPARE(at(ModelOrigin::kLlamaCpp), "/c/llama.cpp");
            const Environment home({{"HF_HOME", "/hf"}, {"LLAMA_CACHE", "/ll"}, {"OLLAMA_MODELS", "/o"}});
            QCOMPARE(at(ModelOrigin::kHuggingFace), "/hf/hub");
            QCOMPARE(at(ModelOrigin::kLlamaCpp), "/ll");
            QCOMPARE(at(ModelOrigin::kOllama), "/o /usr/share/ollama/.ollama/models");
            const Environment hub({std::pair{"HF_HUB_CACHE", "/hub"}});
            QCOMPARE(at(ModelOrigin::kHuggingFace), "/hub");
        }
        const Environment nobody({std::pair{"HOME", nullptr}});
        QCOMPARE(at(ModelOrigin::kHuggingFace), "");
    }

    void nothingThere_isNothingFound() {
        const FoundModels found = find_models(std::vector<ModelPlace>{
            {ModelOrigin::kHuggingFace, root("no")}, {ModelOrigin::kOllama, root("no")}, {ModelOrigin::kLmStudio, {}}});
        QVERIFY(found.models.empty());
        QVERIFY(found.problems.empty());
        QVERIFY(found.complete);
    }

    // The layout of huggingface_hub: links to blobs, an old revision beside the one of
    // main.
    void hub_revisionOfMain_comesFirst() {
        const fs::path repository = root("models--Qwen--Qwen3-Tiny");
        for (const char* name : {"config.json", "model.safetensors"}) {
            copyTo(tinyFolder() / name, repository / "blobs" / name);
            for (const char* revision : {"aaaa", "bbbb"}) {
                linkTo(fs::path("../../blobs") / name, repository / "snapshots" / revision / name);
            }
        }
        writeText(repository / "refs" / "main", "aaaa\n");
        const FoundModels found = find(ModelOrigin::kHuggingFace, root());
        QCOMPARE(namesOf(found), QStringList{"Qwen3-Tiny"});
        const FoundModel& model = found.models.front();
        QCOMPARE(model.path, repository / "snapshots" / "aaaa");
        QCOMPARE(model.publisher, "Qwen");
        QCOMPARE(model.family, "Qwen3Moe");
        QCOMPARE(model.bytes, fs::file_size(tinyFolder() / "model.safetensors"));
        const ModelSpec spec = read_model_spec(tinyFolder());
        QCOMPARE(model.n_experts, spec.experts.n_experts);
        QCOMPARE(model.n_layers, spec.experts.n_layers);
        QVERIFY(model.bits > 15 && model.bits < 17);
        QCOMPARE(model_name(model.path), "Qwen3-Tiny");
        QCOMPARE(read_model_shape(model.path.string()).name, "Qwen3-Tiny");
    }

    void hub_mainWithoutWeights_givesTheRevisionThatHasThem() {
        const fs::path repository = root("models--Qwen--Qwen3-Tiny");
        copyTo(tinyFolder() / "config.json", repository / "snapshots" / "new" / "config.json");
        copyTo(tinyFolder() / "config.json", repository / "snapshots" / "old" / "config.json");
        copyTo(tinyFolder() / "model.safetensors", repository / "snapshots" / "old" / "model.safetensors");
        writeText(repository / "refs" / "main", "new");
        const FoundModels found = find(ModelOrigin::kHuggingFace, root());
        QCOMPARE(found.models.size(), std::size_t{1});
        QCOMPARE(found.models.front().path, repository / "snapshots" / "old");
    }

    // The link has the name; its target is named after its contents.
    void hub_ggufFiles_keepTheirNames() {
        const fs::path repository = root("models--unsloth--Tiny-GGUF");
        copyTo(tinyGguf(), repository / "blobs" / kDigest);
        copyTo(tinyGguf(), repository / "blobs" / "other");
        linkTo(fs::path("../../blobs") / kDigest, repository / "snapshots" / "r" / "Tiny-BF16.gguf");
        linkTo(fs::path("../../../blobs/other"), repository / "snapshots" / "r" / "UD" / "Tiny-UD.gguf");
        linkTo(fs::path("../../blobs") / kDigest, repository / "snapshots" / "r" / "mmproj-F16.gguf");
        const FoundModels found = find(ModelOrigin::kHuggingFace, root());
        QCOMPARE(namesOf(found), (QStringList{"Tiny-BF16", "Tiny-UD"}));
        const FoundModel& model = found.models.front();
        QCOMPARE(model.path, repository / "snapshots" / "r" / "Tiny-BF16.gguf");
        QCOMPARE(model.family, "Qwen3Moe");
        QCOMPARE(model.bytes, fs::file_size(tinyGguf()));
        QVERIFY(model.bits > 15 && model.bits < 17);
        QCOMPARE(model_name(model.path), "Tiny-BF16");
    }

    void hub_missingShard_isNamed() {
        const fs::path revision = root("models--a--b") / "snapshots" / "r";
        copyTo(tinyFolder() / "config.json", revision / "config.json");
        writeText(revision / "model.safetensors.index.json",
                  R"({"weight_map": {"a": "model-00002-of-00002.safetensors"}})");
        copyTo(tinyFolder() / "model.safetensors", revision / "model-00001-of-00002.safetensors");
        const FoundModels found = find(ModelOrigin::kHuggingFace, root());
        QCOMPARE(namesOf(found), QStringList{"b (not)"});
        const QString problem = QString::fromStdString(found.models.front().problem.english());
        QVERIFY2(problem.contains(QStringLiteral("model-00002-of-00002.safetensors")), qPrintable(problem));
    }

    void hub_missingBlob_isNamed() {
        const fs::path link = root("models--a--b") / "snapshots" / "r" / "m.gguf";
        linkTo("../../blobs/gone", link);
        const FoundModels found = find(ModelOrigin::kHuggingFace, root());
        QCOMPARE(namesOf(found), QStringList{"m (not)"});
        QCOMPARE(
            found.models.front().problem.english(),
            link.string() + ": is a link to ../../blobs/gone, which is missing; expected a file there: fetch it again");
    }

    void lmStudio_namesThePublisher() {
        copyTo(tinyGguf(), root("lmstudio-community") / "Tiny-GGUF" / "Tiny-Q8.gguf");
        writeHeader(root("lmstudio-community") / "Dense-GGUF" / "Dense.gguf", header("llama", 0));
        writeHeader(root("nomic") / "Embed" / "embed.gguf", header("nomic-bert", 0));
        writeText(root("lmstudio-community") / "Tiny-GGUF" / "downloading_x.gguf.part", "GGUF");
        const FoundModels found = find(ModelOrigin::kLmStudio, root());
        QCOMPARE(namesOf(found), QStringList{"Tiny-Q8"});
        QCOMPARE(found.models.front().publisher, "lmstudio-community");
        QCOMPARE(found.n_others, 2);
        QVERIFY(found.problems.empty());
    }

    // ORG_REPOSITORY_FILE: the file's own name contains its publisher.
    void llamaCpp_namesWhatItFetched() {
        copyTo(tinyGguf(), root("ann_Tiny-MoE-GGUF_Tiny-MoE-Q4_K_M.gguf"));
        copyTo(tinyGguf(), root("own_Q8_0.gguf"));
        const FoundModels found = find(ModelOrigin::kLlamaCpp, root());
        QCOMPARE(namesOf(found), (QStringList{"own_Q8_0", "Tiny-MoE-Q4_K_M"}));
        QCOMPARE(found.models[0].publisher, "");
        QCOMPARE(found.models[1].publisher, "ann");
    }

    void unknownArchitecture_isNamedWithItsExperts() {
        writeHeader(root() / "next.gguf", header("qwen9moe", 512));
        const FoundModels found = find(ModelOrigin::kLlamaCpp, root());
        QCOMPARE(found.models.size(), std::size_t{1});
        const FoundModel& model = found.models.front();
        QVERIFY(QString::fromStdString(model.problem.english())
                    .contains(QStringLiteral("\"general.architecture\" \"qwen9moe\" is not supported")));
        QCOMPARE(model.family, "qwen9moe");
        QCOMPARE(model.n_experts, 512);
        QCOMPARE(model.n_layers, 48);
        QCOMPARE(model.bits, 32.0);
    }

    void layersBeyondTheBound_areRefusedAsByALoad() {
        for (const std::uint32_t layers : {600u, 2'000'000u}) {
            GgufWriter writer = header("qwen3moe", 8);
            writer.add("qwen3moe.block_count", layers);
            writeHeader(root() / "many.gguf", writer);
            const FoundModels found = find(ModelOrigin::kLlamaCpp, root());
            QCOMPARE(found.models.size() + found.problems.size(), std::size_t{1});
            const std::string problem =
                (found.models.empty() ? found.problems.front() : found.models.front().problem).english();
            QVERIFY2(QString::fromStdString(problem).contains(QStringLiteral("expected an integer from 1 to 512")),
                     problem.c_str());
        }
    }

    void unknownArchitecture_ofAFolder_isNamed() {
        writeText(root() / "a" / "config.json",
                  R"({"architectures": ["NewMoeForCausalLM"], "text_config": {"num_experts": 64}})");
        writeText(root() / "a" / "model.safetensors", "x");
        writeText(root() / "dense" / "config.json", R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 64})");
        writeText(root() / "dense" / "model.safetensors", "x");
        writeText(root() / "only-config" / "config.json", R"({"num_experts": 64})");
        const FoundModels found = find(ModelOrigin::kFolder, root());
        QCOMPARE(namesOf(found), QStringList{"a (not)"});
        QCOMPARE(found.models.front().family, "NewMoe");
        QVERIFY(QString::fromStdString(found.models.front().problem.english())
                    .contains(QStringLiteral("NewMoeForCausalLM")));
        QCOMPARE(found.n_others, 1);
    }

    void splitModel_isOne_andAMissingPartIsNamed() {
        const auto part = [](int i) {
            GgufWriter writer = i == 1 ? header("qwen9moe", 8) : GgufWriter();
            writer.add("split.no", static_cast<std::uint16_t>(i - 1)).add("split.count", std::uint16_t{3});
            writer.add_floats("t" + std::to_string(i), {4}, {1, 2, 3, 4});
            return writer;
        };
        const auto file = [&](const char* folder, int i) {
            return root(folder) / ("m-0000" + std::to_string(i) + "-of-00003.gguf");
        };
        for (const int i : {1, 2, 3}) writeHeader(file("whole", i), part(i));
        const FoundModels whole = find(ModelOrigin::kFolder, root("whole"));
        QCOMPARE(namesOf(whole), QStringList{"m (not)"});  // by its architecture
        QCOMPARE(whole.models.front().path, file("whole", 1));
        QCOMPARE(whole.models.front().bytes,
                 fs::file_size(file("whole", 1)) + fs::file_size(file("whole", 2)) + fs::file_size(file("whole", 3)));

        for (const int i : {1, 3}) writeHeader(file("second", i), part(i));
        for (const int i : {2, 3}) writeHeader(file("first", i), part(i));
        for (const auto& [folder, missing] : {std::pair("second", 2), std::pair("first", 1)}) {
            const FoundModels found = find(ModelOrigin::kFolder, root(folder));
            QCOMPARE(namesOf(found), QStringList{"m (not)"});
            QCOMPARE(found.models.front().problem.english(),
                     file(folder, missing).string() + ": is missing; expected all 3 parts of this model in one folder");
        }
    }

    void ollama_manifestNamesTheBlob() {
        copyTo(tinyGguf(), root("blobs") / (std::string("sha256-") + kDigest));
        writeHeader(root("blobs") / "sha256-dd", header("llama", 0));
        const fs::path manifests = root("manifests");
        const std::string digest = std::string("sha256:") + kDigest;
        writeText(manifests / "registry.ollama.ai/library/qwen3/tiny", manifest(digest));
        writeText(manifests / "registry.ollama.ai/library/qwen3/zlatest", manifest(digest));
        writeText(manifests / "registry.ollama.ai/library/llama/8b", manifest("sha256:dd"));
        writeText(manifests / "registry.ollama.ai/ann/own/v1", manifest("sha256:ee"));
        writeText(manifests / "hf.co/unsloth/X-GGUF/Q4", manifest("sha256:../../etc/passwd"));
        writeText(manifests / "registry.ollama.ai/library/broken/a", R"({"layers": [)");
        writeText(manifests / "registry.ollama.ai/library/broken/b", R"({"layers": [{"mediaType": 3}, 7]})");
        writeText(manifests / "registry.ollama.ai/library/broken/c", R"({"layers": 4})");
        const FoundModels found = find(ModelOrigin::kOllama, root());
        QCOMPARE(namesOf(found), (QStringList{"qwen3:tiny", "qwen3:zlatest", "ann/own:v1 (not)"}));
        QCOMPARE(found.models.front().path, manifests / "registry.ollama.ai/library/qwen3/tiny");
        QCOMPARE(found.models.back().problem.english(),
                 (root("blobs") / "sha256-ee").string() +
                     ": is missing; expected it, because Ollama's ann/own:v1 is kept in "
                     "it: fetch it again, \"ollama pull ann/own:v1\"");
        QCOMPARE(found.n_others, 1);
        QCOMPARE(found.problems.size(), std::size_t{2});
        QVERIFY(QString::fromStdString(found.problems[0].english())
                    .contains(QStringLiteral("\"digest\" is \"sha256:../..")));
        QVERIFY(QString::fromStdString(found.problems[1].english()).contains(QStringLiteral("broken/a")));
    }

    // Ollama's data beside a model is used if neither the file nor the user has other
    // values.
    void ollama_layers_areTemplateParamsAndSystem() {
        const fs::path blob = root("blobs") / "sha256-aa", manifests = root("manifests");
        fs::create_directories(blob.parent_path());
        offstage::tests::write_mixed_gguf(blob.string());
        const auto layer = [](const char* type, const char* digest) {
            return std::string(R"({"mediaType": "application/vnd.ollama.image.)") + type + R"(", "digest": "sha256:)" +
                   digest + "\"}";
        };
        writeText(manifests / "registry.ollama.ai/library/mine/v1",
                  R"({"layers": [)" + layer("model", "aa") + ", " + layer("template", "bb") + ", " +
                      layer("params", "cc") + ", " + layer("system", "dd") + "]}");
        writeText(root("blobs") / "sha256-bb", "{{ .System }}:{{ .Prompt }}={{ .Response }}");
        writeText(
            root("blobs") / "sha256-cc",
            R"({"temperature": 0.25, "top_k": 7, "repeat_last_n": -1, "num_ctx": 96, "num_predict": 5, "seed": 4,)"
            R"( "top_p": 12, "mirostat": 1, "stop": ["</s>", "<s>", "no token"]})");
        writeText(root("blobs") / "sha256-dd", "AB");
        const FoundModels found = find(ModelOrigin::kOllama, root());
        QCOMPARE(namesOf(found), QStringList{"mine:v1"});
        QVERIFY(found.models.front().has_chat_template);

        const QTemporaryDir cache;
        LoadRequest request;
        request.model = blob.string();
        request.compute = ComputeMode::kF32;
        request.n_threads = 1;
        request.cache_directory = cache.path().toStdString();
        const LoadedModel model(request, LoadedModel::Text::kWanted, LoadProgressFn{}, std::stop_token{});
        const ModelSummary& summary = model.summary();
        QVERIFY(summary.has_chat_template);
        QCOMPARE(summary.context, std::int64_t{96});
        QCOMPARE(QString::fromStdString(englishOf(summary.notes)),
                 QStringLiteral(
                     "The model's file has no chat template; the one that Ollama keeps for mine:v1 is used. "
                     "Where nothing else is chosen, answers are drawn as mine:v1 (Ollama) says: temperature 0.25, "
                     "top_k 7, repeat_window -1, seed 4, max_tokens 5, context 96. "
                     "This of mine:v1 (Ollama) is not used: top_p 12, mirostat 1. "
                     "Where no system message is given, the one of mine:v1 (Ollama) is used."));
        SamplerSettings sampler;
        sampler.top_k = 3;
        summary.defaults.apply(sampler, [](std::string_view name) { return name == "top_k"; });
        QCOMPARE(sampler, (SamplerSettings{.temperature = 0.25f, .top_k = 3, .repeat_window = 0, .seed = 4}));
        QCOMPARE(summary.defaults.max_tokens(), 5);

        const ModelText text(model);
        const auto prompt = [&](std::vector<ChatMessage> messages) {
            GenerationRequest question;
            question.messages = std::move(messages);
            return QString::fromStdString(text.decode(text.prompt_tokens(question), false));
        };
        // The vocabulary has no blank to begin a text with.
        QVERIFY(prompt({{Role::kUser, "X"}}).endsWith(QStringLiteral("AB:X=")));
        const QString chosen = prompt({{Role::kSystem, "Y"}, {Role::kUser, "X"}});
        QVERIFY(chosen.endsWith(QStringLiteral("Y:X=")) && !chosen.contains(QStringLiteral("AB")));
        const std::vector<TokenId> ends = text.end_tokens();
        QVERIFY(std::find(ends.begin(), ends.end(), 1) != ends.end());  // <s>

        // The user's choice comes first; then the file's own.
        request.chat_template = "phi";
        QVERIFY(choose_chat_template(blob, "phi", *model.tokenizer()).note.empty());
        QVERIFY(choose_chat_template(blob, "", *model.tokenizer()).chat != nullptr);
        fs::remove(manifests / "registry.ollama.ai/library/mine/v1");
        QVERIFY(choose_chat_template(blob, "", *model.tokenizer()).chat == nullptr);
        QVERIFY(read_model_defaults(blob).notes().empty());
        QVERIFY(!find(ModelOrigin::kFolder, root("blobs")).models.size());
        writeText(root("jinja"), "{{ messages[0].content }}!");
        QCOMPARE(choose_chat_template(blob, root("jinja").string(), *model.tokenizer())
                     .chat->render({{Role::kUser, "X"}}, {}, true)
                     .bytes,
                 std::string("X!"));
        try {
            choose_chat_template(blob, "no-such-family", *model.tokenizer());
            QFAIL("no error");
        } catch (const Error& error) {
            QVERIFY2(QString(error.what()).contains("no-such-family") && QString(error.what()).contains("chatml"),
                     error.what());
        }
    }

    // Texts with which a load is refused: the list has the same error, which names the
    // file.
    void ollama_damagedLayers_areListedWithTheError() {
        const fs::path blob = root("blobs") / "sha256-aa";
        fs::create_directories(blob.parent_path());
        offstage::tests::write_mixed_gguf(blob.string());
        writeText(root("manifests") / "registry.ollama.ai/library/mine/v1",
                  R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:aa"},
                                 {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:bb"},
                                 {"mediaType": "application/vnd.ollama.image.params", "digest": "sha256:cc"}]})");
        const auto tokenizer = Tokenizer::open(blob, read_model_spec(blob).vocab_size);
        const auto problem = [&] {
            const FoundModels found = find(ModelOrigin::kOllama, root());
            return found.models.size() == 1 ? QString::fromStdString(found.models.front().problem.english())
                                            : QStringLiteral("not listed");
        };
        const auto tried = [&] {
            return QString::fromStdString(try_chat_template(blob, {}, *tokenizer).problem.english());
        };
        writeText(root("blobs") / "sha256-bb", "{{ range .Messages }}{{ .Content }}");
        writeText(root("blobs") / "sha256-cc", "{}");
        QVERIFY2(problem().contains(QStringLiteral("sha256-bb, line 1: the chat template")), qPrintable(problem()));
        QVERIFY2(tried().contains(problem()), qPrintable(tried()));
        // No field of Ollama's says that it is Go's: the message is about Go all the
        // same.
        writeText(root("blobs") / "sha256-bb", "Hi\n{{ if .Foo }}x{{ end }}");
        QVERIFY2(problem().contains(QStringLiteral("sha256-bb, line 2: the chat template uses .Foo, which is not")),
                 qPrintable(problem()));
        // An unknown function: the load succeeds, each prompt fails.
        writeText(root("blobs") / "sha256-bb", "{{ nosuchfn .Prompt }}{{ .Response }}");
        QCOMPARE(problem(), QString());
        QVERIFY2(tried().contains(QStringLiteral("sha256-bb: line 1 calls nosuchfn")), qPrintable(tried()));
        writeText(root("blobs") / "sha256-bb", "{{ .Prompt }}{{ .Response }}");
        QCOMPARE(tried(), QString());
        writeText(root("blobs") / "sha256-cc", "{\"stop\": ");
        QVERIFY2(problem().contains(QStringLiteral("sha256-cc")), qPrintable(problem()));
    }

    // Names of one file: each is listed, and opened by its manifest with its own layers.
    // Opened by the file, the layers of one are used, one without damage if there is one.
    void ollama_severalNames_eachHasItsOwnLayers() {
        const fs::path blob = root("blobs") / "sha256-aa";
        fs::create_directories(blob.parent_path());
        offstage::tests::write_mixed_gguf(blob.string(), [](GgufWriter& writer) {
            writer.add("tokenizer.chat_template", "{{ messages[0].content }}own");
        });
        const auto manifest = [&](const char* called) {
            return root("manifests") / "registry.ollama.ai/library" / called;
        };
        const auto name = [&](const char* called, const std::string& digest) {
            const auto layer = [&](const std::string& type, const std::string& of) {
                return "{\"mediaType\": \"application/vnd.ollama.image." + type + "\", \"digest\": \"sha256:" + of +
                       "\"}";
            };
            writeText(manifest(called), R"({"layers": [)" + layer("model", "aa") + ", " +
                                            layer("template", digest + "1") + ", " + layer("params", digest + "2") +
                                            ", " + layer("system", digest + "3") + "]}");
            writeText(root("blobs") / ("sha256-" + digest + "1"), "{{ .Prompt }}" + digest + "{{ .Response }}");
            writeText(root("blobs") / ("sha256-" + digest + "2"), R"({"top_k": )" + digest.substr(1) + "}");
            writeText(root("blobs") / ("sha256-" + digest + "3"), called);
        };
        name("pirate/latest", "b7");
        const auto tokenizer = Tokenizer::open(blob, read_model_spec(blob).vocab_size);
        const auto answered = [&](const fs::path& model) {
            return QString::fromStdString(
                choose_chat_template(model, {}, *tokenizer).chat->render({{Role::kUser, "X"}}, {}, true).bytes);
        };
        // One name: as before there were others.
        QCOMPARE(find(ModelOrigin::kOllama, root()).models.at(0).path, blob);
        QCOMPARE(answered(blob), QStringLiteral("Xown"));
        QCOMPARE(answered(manifest("pirate/latest")), QStringLiteral("Xown"));
        QCOMPARE(read_model_defaults(manifest("pirate/latest")).system, "pirate/latest");

        name("qwen3/30b", "c8");
        name("qwen3/copy", "d9");
        fs::copy_file(manifest("qwen3/copy"), manifest("qwen3/same"));
        const FoundModels found = find(ModelOrigin::kOllama, root());
        QCOMPARE(namesOf(found), (QStringList{"pirate:latest", "qwen3:30b", "qwen3:copy", "qwen3:same"}));
        const std::pair<const char*, const char*> expected[] = {
            {"pirate/latest", "b7"}, {"qwen3/30b", "c8"}, {"qwen3/copy", "d9"}, {"qwen3/same", "d9"}};
        for (std::size_t i = 0; i < std::size(expected); ++i) {
            const auto& [called, digest] = expected[i];
            const fs::path path = found.models[i].path;
            QCOMPARE(path, manifest(called));
            QCOMPARE(model_path(path), blob);
            QCOMPARE(model_name(path), found.models[i].name);
            QCOMPARE(name_in_cache(path), found.models[i].name);
            QCOMPARE(answered(path), QStringLiteral("X") + QLatin1String(digest));
            const ModelDefaults defaults = read_model_defaults(path);
            QCOMPARE(defaults.sampling.at(0).value, digest[1] - '0');
            QCOMPARE(defaults.system, called == std::string("qwen3/same") ? "qwen3/copy" : called);
            QVERIFY(defaults.name_note.empty());
        }
        // A name whose layers are damaged has its problem to itself.
        writeText(root("blobs") / "sha256-b71", "{{ range .Messages }}");
        QCOMPARE(namesOf(find(ModelOrigin::kOllama, root())),
                 (QStringList{"qwen3:30b", "qwen3:copy", "qwen3:same", "pirate:latest (not)"}));
        QCOMPARE(name_in_cache(blob), "qwen3:30b");
        writeText(root("blobs") / "sha256-c82", "{");
        QCOMPARE(name_in_cache(blob), "qwen3:copy");
        const ModelDefaults defaults = read_model_defaults(blob);
        QCOMPARE(defaults.system, "qwen3/copy");
        const QString notes = QString::fromStdString(englishOf(defaults.notes()));
        QVERIFY2(notes.contains(QStringLiteral("is taken from qwen3:copy, not from pirate:latest, qwen3:30b.")),
                 qPrintable(notes));
        writeText(root("blobs") / "sha256-d91", "{{ range .Messages }}");
        QCOMPARE(name_in_cache(blob), "pirate:latest");
        // Manifests without a file.
        fs::remove(blob);
        QCOMPARE(find(ModelOrigin::kOllama, root()).models.size(), 4u);
        const auto error = offstage::tests::error_of([&] { model_path(manifest("qwen3/30b")); });
        QVERIFY(error && QString(error->what()).contains(QStringLiteral("qwen3:30b")));
    }

    void damagedTemplateInTheFile_isListedWithTheError() {
        offstage::tests::write_mixed_gguf((root() / "m.gguf").string(), [](GgufWriter& writer) {
            writer.add("tokenizer.chat_template", "{% for m in messages %}{{ m.content }}");
        });
        const FoundModels found = find(ModelOrigin::kFolder, root());
        QCOMPARE(namesOf(found), QStringList{"m (not)"});
        const QString problem = QString::fromStdString(found.models.front().problem.english());
        QVERIFY2(problem.contains(QStringLiteral("m.gguf (tokenizer.chat_template), line 1: the chat template")),
                 qPrintable(problem));
    }

    // The same for other files: the recommendations of a folder's generation_config.json
    // and of a GGUF file.
    void samplingThatIsAdvised_isRead() {
        writeText(root() / "generation_config.json",
                  R"({"do_sample": true, "temperature": 0.6, "top_p": 0.95, "top_k": 20, "repetition_penalty": 1.05})");
        SamplerSettings sampler;
        read_model_defaults(root()).apply(sampler);
        QCOMPARE(sampler, (SamplerSettings{.temperature = 0.6f, .top_k = 20, .top_p = 0.95f, .repeat_penalty = 1.05f}));
        writeText(root() / "generation_config.json", R"({"do_sample": true, "temperature": "hot", "top_k": 20})");
        QCOMPARE(englishOf(read_model_defaults(root()).notes()),
                 "Where nothing else is chosen, answers are drawn as generation_config.json says: top_k 20. "
                 "This of generation_config.json is not used: temperature \"hot\".");
        writeText(root() / "generation_config.json", R"({"do_sample": false, "temperature": 0.6})");
        QVERIFY(read_model_defaults(root()).sampling.empty());
        GgufWriter writer;
        writer.add("general.sampling.temp", 0.5f).add("general.sampling.top_k", std::int32_t{64});
        writeHeader(root() / "m.gguf", writer);
        sampler = {};
        read_model_defaults(root() / "m.gguf").apply(sampler);
        QCOMPARE(sampler, (SamplerSettings{.temperature = 0.5f, .top_k = 64}));
    }

    // A text that is not a special token ends an answer, for every way of requesting one.
    void ollama_stops_endAnswers() {
        const fs::path blob = root("blobs") / "sha256-aa", params = root("blobs") / "sha256-cc";
        fs::create_directories(blob.parent_path());
        offstage::tests::write_mixed_gguf(blob.string());
        writeText(root("manifests") / "registry.ollama.ai/library/mine/v1",
                  R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:aa"},
                                 {"mediaType": "application/vnd.ollama.image.params", "digest": "sha256:cc"}]})");
        const QTemporaryDir cache;
        LoadRequest load;
        load.model = blob.string();
        load.compute = ComputeMode::kF32;
        load.n_threads = 1;
        load.cache_directory = cache.path().toStdString();
        load.chat_template = "chatml";
        GenerationRequest request;
        request.messages = {{Role::kUser, "ABC"}};
        request.sampler.temperature = 0;
        request.max_tokens = 24;
        std::string streamed;
        const auto ask = [&](const GenerationRequest& asked) {
            streamed.clear();
            const auto session = Session::create();
            session->load(load, {}, {});
            return session->generate(asked, [&](const TextDelta& delta) { streamed += delta.text; }, {});
        };
        writeText(params, R"({"stop": ["", "no such text"]})");
        const GenerationResult whole = ask(request);
        QCOMPARE(streamed, whole.text);
        QVERIFY(whole.text.size() > 8);
        const std::string stop = whole.text.substr(5, 2), cut = whole.text.substr(0, whole.text.find(stop));
        writeText(params, R"({"stop": [")" + stop + R"("]})");
        const GenerationResult one = ask(request);
        QCOMPARE(one.text, cut);
        QCOMPARE(streamed, cut);
        QCOMPARE(one.finish, FinishReason::kEndOfTurn);
        QVERIFY(one.tokens.size() < whole.tokens.size());
        // Several answers, and beams.
        request.n_answers = 2;
        const GenerationResult two = ask(request);
        for (const Answer& answer : two.answers) {
            QCOMPARE(answer.text, cut);
            QCOMPARE(answer.finish, FinishReason::kEndOfTurn);
            QCOMPARE(answer.tokens.size(), one.tokens.size());
        }
        request.n_answers = 1;
        request.beam.width = 2;
        for (const Answer& answer : ask(request).answers) QVERIFY(answer.text.find(stop) == std::string::npos);
        request.beam.width = 1;
        // Without stop_at_texts, and with ignore_end for measurements, the answer is
        // complete.
        request.stop_at_texts = false;
        QCOMPARE(ask(request).text, whole.text);
        request.stop_at_texts = true;
        request.ignore_end = true;
        QVERIFY(ask(request).text.starts_with(whole.text));
    }

    // Parameters that change an answer and are not used are named; others are not.
    void ollama_params_notUsedAreNamed_data() {
        QTest::addColumn<QByteArray>("params");
        QTest::addColumn<QString>("unused");
        const auto row = [](const char* params, const char* unused) {
            QTest::newRow(params) << QByteArray(params) << QString::fromLatin1(unused);
        };
        row(R"({"temperature": "hot"})", R"(temperature "hot")");
        row(R"({"top_p": 12, "top_k": [1]})", "top_k a list of 1, top_p 12");
        row(R"({"mirostat": 2, "mirostat_tau": 5})", "mirostat 2");
        row(R"({"mirostat": 0, "tfs_z": 1.0, "presence_penalty": 0, "num_gpu": 99, "num_thread": 4})", "");
        row(R"({"presence_penalty": 1.5, "dry_multiplier": 0.8})", "dry_multiplier 0.8, presence_penalty 1.5");
        row(R"({"seed": 0, "num_predict": -1})", "");
        row(R"({"seed": "x"})", R"(seed "x")");
        row(R"({"num_ctx": 0})", "num_ctx 0");
        row(R"({"stop": ["a"], "num_ctx": 64})", "");
    }
    void ollama_params_notUsedAreNamed() {
        QFETCH(QByteArray, params);
        QFETCH(QString, unused);
        const fs::path blob = root("blobs") / "sha256-aa";
        fs::create_directories(blob.parent_path());
        offstage::tests::write_mixed_gguf(blob.string());
        writeText(root("manifests") / "registry.ollama.ai/library/mine/v1",
                  R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:aa"},
                                 {"mediaType": "application/vnd.ollama.image.params", "digest": "sha256:cc"}]})");
        writeText(root("blobs") / "sha256-cc", params.toStdString());
        QCOMPARE(QString::fromStdString(read_model_defaults(blob).unused), unused);
    }

    void stopStrings_ofAFolder() {
        writeText(root() / "generation_config.json", R"({"stop_strings": ["A", "", 3, "B"]})");
        QCOMPARE(read_model_defaults(root()).stops, (std::vector<std::string>{"A", "B"}));
        writeText(root() / "generation_config.json", R"({"stop_strings": "C"})");
        QCOMPARE(read_model_defaults(root()).stops, std::vector<std::string>{"C"});
    }

    // Weights of an adapter: the file alone would answer as another model.
    void ollama_adapter_isRefused() {
        const fs::path blob = root("blobs") / "sha256-aa", manifests = root("manifests");
        copyTo(tinyGguf(), blob);
        const std::string model = R"({"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:aa"})";
        const std::string adapter = R"({"mediaType": "application/vnd.ollama.image.adapter", "digest": "sha256:bb"})";
        writeText(manifests / "registry.ollama.ai/library/mine/v1", R"({"layers": [)" + model + ", " + adapter + "]}");
        writeHeader(root("blobs") / "sha256-dd", header("llama", 0));
        writeText(manifests / "registry.ollama.ai/library/dense/v1",
                  R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:dd"}, )" +
                      adapter + "]}");
        const FoundModels adapted = find(ModelOrigin::kOllama, root());
        QCOMPARE(namesOf(adapted), QStringList{"mine:v1 (not)"});
        const QString problem = QString::fromStdString(adapted.models.front().problem.english());
        QVERIFY2(problem.contains(QStringLiteral("Ollama's mine:v1 is a model with an adapter (LoRA)")),
                 qPrintable(problem));
        const auto error = offstage::tests::error_of([&] { read_model_defaults(blob); });
        QVERIFY(error.has_value());
        QCOMPARE(error->kind(), ErrorKind::kUnsupported);
        QCOMPARE(QString(error->what()), problem);
        // The model that it was made from is kept in the same file.
        writeText(manifests / "registry.ollama.ai/library/qwen3/tiny", R"({"layers": [)" + model + "]}");
        QCOMPARE(namesOf(find(ModelOrigin::kOllama, root())), (QStringList{"qwen3:tiny", "mine:v1 (not)"}));
        QVERIFY(read_model_defaults(blob).stops.empty());
        QCOMPARE(name_in_cache(blob), "qwen3:tiny");
    }

    void modelsWithoutAChatTemplate_areFoundAsSuch() {
        copyTo(tinyGguf(), root() / "m.gguf");
        QVERIFY(!find(ModelOrigin::kFolder, root()).models.front().has_chat_template);
    }

    // A GGUF file without the ending, everywhere a path of one is taken.
    void ollama_blob_opensAndAnswers() {
        const fs::path blob = root("blobs") / (std::string("sha256-") + kDigest);
        copyTo(tinyGguf(), blob);
        writeText(root("manifests") / "registry.ollama.ai/library/qwen3/tiny",
                  manifest(std::string("sha256:") + kDigest));
        QVERIFY(is_gguf_path(blob));
        QVERIFY(!is_gguf_path(root("manifests") / "registry.ollama.ai/library/qwen3/tiny"));
        QVERIFY(!is_gguf_path(root("blobs")));
        QCOMPARE(model_path(blob.string()), blob);
        QCOMPARE(model_name(blob), "qwen3:tiny");
        QVERIFY(!Tokenizer::is_in(blob));  // this one is without

        const QTemporaryDir cache;
        LoadRequest request;
        request.model = blob.string();
        request.device = "cpu";
        request.compute = ComputeMode::kF32;
        request.kv = KvType::kF32;
        request.n_threads = 1;  // tests run side by side, and threads would wait for each other
        request.cache_directory = cache.path().toStdString();
        LoadedModel model(request, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, std::stop_token{});
        const QJsonObject golden = readJson(QString::fromStdString((tinyFolder() / "golden.json").string()));
        const QJsonObject one = golden[QLatin1String("cases")].toArray().first().toObject();
        const auto logits = compute_logits(model, tokensOf(one[QLatin1String("tokens")].toArray()), true);
        const QJsonArray expected = one[QLatin1String("logits")].toArray();
        QVERIFY(!expected.isEmpty());
        for (qsizetype row = 0; row < expected.size(); ++row) {
            QVERIFY(relativeError(logits[static_cast<std::size_t>(row)], floatsOf(expected[row].toArray())) <= 1e-4);
        }
    }

    // Endings that files of this kind have or had: in a path, in a folder, in the list.
    void ggufOfAnotherEnding_isFoundAndOpened() {
        for (const char* name : {"x.GGUF", "x.Gguf", "x.bin", "x.ggml"}) {
            init();
            copyTo(tinyGguf(), root("m") / name);
            writeText(root("m") / "README.md", "GGUF");
            QVERIFY2(is_gguf_path(root("m") / name), name);
            QCOMPARE(model_path((root("m") / name).string()), root("m") / name);
            QCOMPARE(model_path(root("m").string()), root("m") / name);
            QCOMPARE(model_name(root("m") / name), "x");
            QCOMPARE(read_model_spec(root("m") / name).architecture, "Qwen3MoeForCausalLM");
            QCOMPARE(namesOf(find(ModelOrigin::kFolder, root())), QStringList{"x"});
        }
        copyTo(tinyGguf(), root("m") / "dots.2.5");
        QCOMPARE(model_name(root("m") / "dots.2.5"), "dots.2.5");
        writeText(root("other") / "pytorch_model.bin", "PK and more");
        QVERIFY(!is_gguf_path(root("other") / "pytorch_model.bin"));
    }

    // Parts keep the ending that they have.
    void splitModelInCapitals_isOne() {
        const auto file = [&](int i) { return root() / ("m-0000" + std::to_string(i) + "-of-00002.GGUF"); };
        for (const int i : {1, 2}) {
            GgufWriter part = i == 1 ? header("qwen9moe", 8) : GgufWriter();
            part.add("split.count", std::uint16_t{2}).add_floats("t" + std::to_string(i), {4}, {1, 2, 3, 4});
            writeHeader(file(i), part);
        }
        QCOMPARE(model_path(file(2).string()), file(1));
        QCOMPARE(model_path(root().string()), file(1));
        QCOMPARE(find(ModelOrigin::kFolder, root()).models.size(), std::size_t{1});
    }

    // The layout of repositories: a folder for each format, beside a config.json without
    // weights.
    void repositoryFolder_isItsOneModel() {
        writeText(root("r") / "README.md", "text");
        writeText(root("r") / "config.json", "{}");
        writeText(root("r") / ".cache" / "huggingface" / "old.gguf", "GGUF");
        copyTo(tinyGguf(), root("r") / "Q4_K_M" / "a.gguf");
        copyTo(tinyGguf(), root("r") / "Q4_K_M" / "a-mmproj-F16.gguf");
        QCOMPARE(model_path(root("r").string()), root("r") / "Q4_K_M" / "a.gguf");
        copyTo(tinyGguf(), root("r") / "Q8_0" / "b.gguf");
        fs::remove(root("r") / "config.json");
        const auto error = offstage::tests::error_of([&] { read_model_shape(root("r").string()); });
        QCOMPARE(offstage::tests::mismatch(error, ErrorKind::kNotFound,
                                           QStringLiteral("holds 2 GGUF models (\"Q4_K_M/a.gguf\" ...)|one of them")),
                 QString());
        copyTo(tinyFolder() / "config.json", root("r") / "config.json");
        const auto with_config = offstage::tests::error_of([&] { Checkpoint::open(root("r")); });
        QCOMPARE(offstage::tests::mismatch(with_config, ErrorKind::kNotFound, QStringLiteral("holds 2 GGUF models")),
                 QString());
    }

    // File names have up to 255 bytes; files stored beside a model are named after it.
    void longName_opens() {
        const std::string stem(250, 'n');
        const fs::path file = root() / (stem + ".gguf");
        copyTo(tinyGguf(), file);
        for (const auto& beside : {popularity_file(file), neuron_thresholds_file(file)}) {
            QVERIFY2(beside.filename().string().size() <= 255, beside.c_str());
            QVERIFY(std::ofstream(beside).is_open());
            // Another model with the same beginning has another file.
            QVERIFY(beside.filename() != popularity_file(root() / (std::string(249, 'n') + "m.gguf")).filename());
        }
        fs::remove(popularity_file(file));
        fs::remove(neuron_thresholds_file(file));
        LoadRequest request;
        request.model = file.string();
        request.device = "cpu";
        QVERIFY(
            FitEstimator(file.string(), FitEstimator::Text::kNotNeeded).estimate(request).shape.spec.experts.n_experts >
            0);
        QCOMPARE(model_name(file), stem);
        QCOMPARE(namesOf(find(ModelOrigin::kFolder, root())), QStringList{QString::fromStdString(stem)});
        QCOMPARE(popularity_file(root() / "short.gguf").filename(), "short.expert_popularity.json");
    }

    // Models that `generate` would refuse are recognized before anything is loaded.
    void folder_whoseTextFilesAreRefused_saysSo() {
        const fs::path folder = root("tiny");
        for (const char* name : {"config.json", "model.safetensors"}) copyTo(tinyFolder() / name, folder / name);
        const auto problem = [&] {
            const FoundModels found = find(ModelOrigin::kFolder, root());
            return found.models.empty() ? QStringLiteral("none found")
                                        : QString::fromStdString(found.models.front().problem.english());
        };
        QCOMPARE(problem(), QString());
        const auto write = [&](const std::string& normalizer) {
            writeText(folder / "tokenizer.json",
                      "{\"normalizer\": " + normalizer + ", \"model\": {\"type\": \"BPE\", \"vocab\": {}}}");
        };
        write("{\"type\": \"Bert\"}");
        QVERIFY2(problem().contains(QStringLiteral("normalizer.type")), qPrintable(problem()));
        write("null");
        QCOMPARE(problem(), QString());
    }

    void ollama_blob_hasItsTextInside() {
        const fs::path blob = root("blobs") / "sha256-aa";
        GgufWriter writer;
        writer.add("tokenizer.ggml.model", "gpt2").add("tokenizer.chat_template", "{{ messages[0].content }}!");
        writeHeader(blob, writer);
        QVERIFY(Tokenizer::is_in(blob));
        QVERIFY(ChatTemplate::read(blob) != nullptr);
    }

    void aModelInTwoPlaces_isFoundInTheFirst() {
        copyTo(tinyGguf(), root("hub") / "models--a--b" / "snapshots" / "r" / "m.gguf");
        linkTo(root("hub") / "models--a--b" / "snapshots" / "r" / "m.gguf", root("lm") / "a" / "b" / "m.gguf");
        const std::vector<ModelPlace> places = {{ModelOrigin::kHuggingFace, root("hub")},
                                                {ModelOrigin::kLmStudio, root("lm")}};
        const FoundModels found = find_models(places);
        QCOMPARE(found.models.size(), std::size_t{1});
        QCOMPARE(found.models.front().origin, ModelOrigin::kHuggingFace);
    }

    // llama.cpp's newer cache has the hub's layout.
    void llamaCpp_takesBothLayouts() {
        copyTo(tinyGguf(), root() / "ggml-org_Tiny_tiny.gguf");
        writeText(root() / "ggml-org_Tiny_tiny.gguf.json", "{}");
        copyTo(tinyGguf(), root("models--ggml-org--Other") / "snapshots" / "r" / "other.gguf");
        const FoundModels found = find(ModelOrigin::kLlamaCpp, root());
        QCOMPARE(namesOf(found), (QStringList{"ggml-org_Tiny_tiny", "other"}));
        QCOMPARE(found.models.back().publisher, "ggml-org");
    }

    void damagedAndForbidden_doNotEndTheSearch() {
        copyTo(tinyGguf(), root("z") / "good.gguf");
        writeText(root("a") / "bad.gguf", "GGUF but cut short");
        writeText(root("a") / "empty.gguf", "");
        fs::create_directories(root("a") / "folder.gguf");
        linkTo("nowhere", root("a") / "broken.gguf");
        linkTo("loop", root("a") / "loop");
        linkTo(root(), root("a") / "back");
        writeHeader(root("a") / "imatrix.gguf", GgufWriter().add("general.type", "imatrix"));
        writeText(root("m") / "config.json", "[1, 2]");
        writeText(root("m") / "x.safetensors", "x");
        fs::create_directories(root("locked") / "in");
        fs::permissions(root("locked"), fs::perms::none);
        const FoundModels found = find(ModelOrigin::kFolder, root());
        fs::permissions(root("locked"), fs::perms::owner_all);
        QCOMPARE(namesOf(found), (QStringList{"good", "bad (not)", "broken (not)", "empty (not)", "m (not)"}));
        QVERIFY(found.complete);
        if (geteuid() != 0) {  // root can read locked folders
            QCOMPARE(found.problems.size(), std::size_t{1});
            QVERIFY(QString::fromStdString(found.problems[0].english())
                        .contains(QStringLiteral("locked: cannot be listed")));
        }
    }

    void tooManyEntries_endTheSearch() {
        fs::create_directories(root("many"));
        for (std::int64_t i = 0; i <= kMostEntries; ++i) {
            fs::create_symlink("x", root("many") / std::to_string(i));
        }
        QVERIFY(!find(ModelOrigin::kFolder, root()).complete);
    }

    void stopped_endsAtOnce() {
        copyTo(tinyGguf(), root() / "m.gguf");
        std::stop_source stop;
        stop.request_stop();
        const std::vector<ModelPlace> places = {{ModelOrigin::kFolder, root()}, {ModelOrigin::kOllama, root()}};
        const FoundModels found = find_models(places, stop.get_token());
        QVERIFY(found.models.empty());
        QVERIFY(!found.complete);
    }
};

QTEST_GUILESS_MAIN(TestModelFinder)
#include "tst_model_finder.moc"
