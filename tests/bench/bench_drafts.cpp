// Answers with drafts of which a forced share is right, beside answers without: tokens
// per second by the device's clock (accounted where it is emulated), and the process's
// CPU time for each token, which other work on the machine hardly changes. Medians.
//
//  bench_drafts MODEL [--device D] [--vram BYTES] [--threads N] [--tokens N] [--repeat N]
//
// MODEL: one that chats, such as tests/device/make_gguf.py writes.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "engine/error.h"
#include "engine/run/session.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kPromptTokens = 64;

struct Options {
    LoadRequest load;
    int n_tokens = 128;
    int repeats = 5;
};

// What a run drafts, and how much of it is right: -1: nothing.
struct Variant {
    const char* name;
    DraftMode mode;
    int percent;
};
constexpr std::array kVariants = {Variant{"none", DraftMode::kOff, -1},
                                  Variant{"always, 0 %", DraftMode::kAlways, 0},
                                  Variant{"always, 50 %", DraftMode::kAlways, 50},
                                  Variant{"always, 90 %", DraftMode::kAlways, 90},
                                  Variant{"auto, 0 %", DraftMode::kAuto, 0},
                                  Variant{"auto, 50 %", DraftMode::kAuto, 50},
                                  Variant{"auto, 90 %", DraftMode::kAuto, 90}};

struct Measured {
    std::vector<double> tokens_per_s, cpu_s;
    DraftReport drafts;
};

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

GenerationRequest request_for(int n_tokens) {
    GenerationRequest request;
    std::mt19937 random(5);
    for (std::int64_t i = 0; i < kPromptTokens; ++i) {
        request.prompt_ids.push_back(static_cast<TokenId>(random() % 200));
    }
    request.max_tokens = n_tokens;
    request.sampler.temperature = 0;
    return request;
}

Options read(int argc, char** argv) {
    Options options;
    if (argc < 2) throw std::invalid_argument("no model");
    options.load.model = argv[1];
    options.load.context = 1024;
    options.load.checks_costs = false;
    options.load.learn_placement = false;
    options.load.text_needs = TextNeeds::kTokenizer;
    for (int i = 2; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--device") options.load.device = argv[i + 1];
        if (name == "--vram") options.load.vram_bytes = std::strtoull(argv[i + 1], nullptr, 10);
        if (name == "--threads") options.load.n_threads = std::atoi(argv[i + 1]);
        if (name == "--tokens") options.n_tokens = std::atoi(argv[i + 1]);
        if (name == "--repeat") options.repeats = std::atoi(argv[i + 1]);
    }
    return options;
}

int run(int argc, char** argv) {
    const Options options = read(argc, argv);
    const GenerationRequest request = request_for(options.n_tokens);
    std::vector<TokenId> known = request.prompt_ids;
    std::map<std::string, Measured> measured;
    for (const Variant& variant : kVariants) {
        std::mt19937 random(11);
        LoadRequest load = options.load;
        load.drafts = variant.mode;
        load.writes_draft = [&](std::span<const TokenId> tokens, std::span<TokenId> draft) {
            std::size_t n = 0;
            for (; n < draft.size() && tokens.size() + n < known.size(); ++n) {
                const bool is_right = static_cast<int>(random() % 100) < variant.percent;
                draft[n] = known[tokens.size() + n] + (is_right ? 0 : 1);
            }
            return n;
        };
        const auto session = Session::create();
        const ModelSummary model = session->load(load, {}, {});
        if (variant.percent < 0) {
            std::printf("%s on %s, %lld of %lld experts there, %d threads\n", model.name.c_str(),
                        model.device_name.c_str(), static_cast<long long>(model.resident_experts),
                        static_cast<long long>(model.total_experts), model.n_threads);
        }
        Measured& of = measured[variant.name];
        for (int repeat = -1; repeat < options.repeats; ++repeat) {  // the first one lets the policy learn
            double begin_s = 0;
            const auto on_delta = [&](const TextDelta& delta) {
                if (delta.n_tokens == 1) begin_s = cpu_seconds();
            };
            const GenerationResult result = session->generate(request, on_delta, {});
            const double per_token_s = (cpu_seconds() - begin_s) / static_cast<double>(result.tokens.size() - 1);
            if (variant.percent < 0) known.resize(request.prompt_ids.size());
            if (variant.percent < 0) known.insert(known.end(), result.tokens.begin(), result.tokens.end());
            if (repeat < 0) continue;  // its prompt was read in another step, so that its bits are others
            if (!std::equal(result.tokens.begin(), result.tokens.end(), known.begin() + kPromptTokens)) {
                std::puts("OTHER TOKENS THAN WITHOUT DRAFTS");
            }
            of.tokens_per_s.push_back(result.decode_tokens_per_s);
            of.cpu_s.push_back(per_token_s);
            of.drafts = result.drafts;
        }
        const Measured& none = measured["none"];
        std::printf(
            "%-13s %8.2f tokens/s (%5.3f)  CPU %8.3f ms a token (%5.3f)  %5.3f tokens a step, %3.0f %% of %lld "
            "accepted, "
            "%3.0f %% more experts\n",
            variant.name, median(of.tokens_per_s), median(of.tokens_per_s) / median(none.tokens_per_s),
            1e3 * median(of.cpu_s), median(none.cpu_s) / median(of.cpu_s), of.drafts.tokens_per_step(),
            100 * of.drafts.accepted_share(), static_cast<long long>(of.drafts.drafted),
            100 * of.drafts.more_experts());
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace
}  // namespace offstage::engine

int main(int argc, char** argv) {
    try {
        return offstage::engine::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
