// A prompt's experts of a layer of real widths on a GPU, by the operations of
// kernels/cuda_context.h alone. Prints what a layer takes from the router's choice to the
// experts' outputs, by the host's clock: grouped by the GPU, and by the host, which reads
// the choice, orders it and sends the order back, as it does where the GPU cannot. One
// JSON object a line.
//
//   prompt_experts [--tokens 512,...] [--choice even|one] [--groups chosen|always] [--rounds 20]
//                  [--widths real|narrow]
//
// one: every token chooses the first expert, too, which so has a row of each. always:
// packed experts alone, which are also grouped where the table of products has cuBLAS
// instead ("chosen": false): its limit of rows is what this measures. narrow: for a CUDA
// made of threads (tests/cuda_host).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/ops/operation.h"
#include "tests/device/gpu_memory.h"

using namespace offstage::kernels;

#ifdef OFFSTAGE_CUDA_ON_HOST
#include "tests/cuda_host/cuda_host.h"
#define open_cuda_context open_cuda_context_on_host
#endif

namespace {

struct Shape {
    const char* name;
    std::int64_t hidden_dim, ffn_dim, n_experts, n_active;
    W type;
};
const Shape kReal[] = {{"qwen3-30b-a3b HQQ4", 2048, 768, 128, 8, W::kHqq4},
                       {"qwen3-30b-a3b HQQ3", 2048, 768, 128, 8, W::kHqq3},
                       {"qwen3-30b-a3b INT8", 2048, 768, 128, 8, W::kInt8},
                       {"qwen3-30b-a3b Q4_K", 2048, 768, 128, 8, W::kQ4K},
                       {"mixtral-8x7b HQQ4", 4096, 14336, 8, 2, W::kHqq4}};
const Shape kNarrow[] = {{"narrow HQQ4", 64, 96, 12, 3, W::kHqq4}, {"narrow Q4_0", 64, 96, 12, 3, W::kQ4_0}};

class Layer {
  public:
    Layer(CudaContext& context, const Shape& shape, std::int64_t n_tokens, bool one)
        : context_(context), memory_(context), shape_(shape), n_tokens_(n_tokens) {
        CudaStep step;
        step.n_tokens = n_tokens;
        step.hidden_dim = shape.hidden_dim;
        step.ffn_dim = shape.ffn_dim;
        step.n_experts = shape.n_experts;
        step.n_active = shape.n_active;
        step.vocab_size = 32000;
        step.blocks = true;
        // What grouping takes where plans do not reserve it.
        const std::int64_t n_values = n_tokens * (shape.hidden_dim + shape.n_active * shape.ffn_dim);
        const std::uint64_t bytes =
            context.scratch_bytes(step) + (std::uint64_t{256} << 20) + 2 * static_cast<std::uint64_t>(n_values);
        context.set_scratch(memory_.take(bytes), bytes);
        layout_ = expert_layout(shape.type, shape.hidden_dim, shape.ffn_dim);
        layout_.down_rows_are_outputs = is_blocks(shape.type);
        for (std::int64_t e = 0; e < shape.n_experts; ++e) blocks_.push_back(expert());
        table_ = memory_.copy_of(blocks_);
        const std::int64_t n_pairs = n_tokens * shape.n_active;
        std::minstd_rand random(3);
        std::vector<std::int32_t> all(static_cast<std::size_t>(shape.n_experts));
        for (std::size_t e = 0; e < all.size(); ++e) all[e] = static_cast<std::int32_t>(e);
        for (std::int64_t t = 0; t < n_tokens; ++t) {
            std::shuffle(all.begin(), all.end(), random);
            if (one) std::swap(all.front(), *std::find(all.begin(), all.end(), 0));
            choice_.insert(choice_.end(), all.begin(), all.begin() + shape.n_active);
        }
        chosen_ = memory_.copy_of(choice_);
        read_.resize(choice_.size());
        row_token_ = memory_.copy_of(choice_), row_of_ = memory_.copy_of(choice_);
        inputs_ = memory_.floats(n_tokens * shape.hidden_dim, 1.0f);
        grouped_ = memory_.floats(n_pairs * shape.hidden_dim, 0.0f);
        listed_ = memory_.floats(n_pairs * shape.hidden_dim, 0.0f);
    }
    ~Layer() { context_.set_scratch(nullptr, 0); }
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;

    bool takes_grouped() const { return context_.takes_grouped(layout_, n_tokens_, shape_.n_active, shape_.n_experts); }
    void group() {
        context_.submit(ops::GroupedExperts{.layout = layout_,
                                            .blocks = table_,
                                            .chosen = chosen_,
                                            .n_tokens = n_tokens_,
                                            .n_active = shape_.n_active,
                                            .n_experts = shape_.n_experts,
                                            .inputs = inputs_,
                                            .row_token = row_token_,
                                            .row_of = row_of_,
                                            .out = grouped_});
    }
    void list() {
        context_.download(read_.data(), chosen_, read_.size() * sizeof(std::int32_t));
        memory_.wait();
        calls_.clear();
        order_.clear();
        for (std::int32_t e = 0; e < static_cast<std::int32_t>(shape_.n_experts); ++e) {
            const auto first = static_cast<std::int64_t>(order_.size());
            for (std::size_t p = 0; p < read_.size(); ++p) {
                if (read_[p] == e)
                    order_.push_back(static_cast<std::int32_t>(p) / static_cast<std::int32_t>(shape_.n_active));
            }
            const std::int64_t n = static_cast<std::int64_t>(order_.size()) - first;
            if (n > 0) calls_.push_back({{blocks_[static_cast<std::size_t>(e)], layout_}, first, n});
        }
        context_.upload(row_token_, order_.data(), order_.size() * sizeof(std::int32_t));
        context_.submit(ops::Experts{calls_, inputs_, row_token_, listed_});
    }
    // The median of the rounds: microseconds.
    double time_us(int rounds, const std::function<void()>& work) {
        std::vector<double> us;
        for (int round = 0; round < rounds + 1; ++round) {
            memory_.wait();
            const auto begin = std::chrono::steady_clock::now();
            work();
            memory_.wait();
            if (round == 0) continue;
            us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(us.begin(), us.end());
        return us[us.size() / 2];
    }
    bool same_bits() {
        const std::size_t n = choice_.size() * static_cast<std::size_t>(shape_.hidden_dim);
        std::vector<float> a(n), b(n);
        context_.download(a.data(), grouped_, n * sizeof(float));
        context_.download(b.data(), listed_, n * sizeof(float));
        memory_.wait();
        return std::memcmp(a.data(), b.data(), n * sizeof(float)) == 0;
    }

  private:
    const std::byte* expert() {
        std::byte* const block = memory_.rows(layout_.gate, shape_.hidden_dim, layout_.bytes());
        if (!layout_.down_rows_are_outputs) return block;
        const std::size_t down_bytes = layout_.bytes() - layout_.down_offset();
        const std::byte* const down = memory_.rows(layout_.down, shape_.ffn_dim, down_bytes);
        context_.copy_within(block + layout_.down_offset(), down, down_bytes);
        context_.lay_out(ExpertView{block, layout_});
        memory_.wait();
        return block;
    }

    CudaContext& context_;
    Memory memory_;
    const Shape& shape_;
    std::int64_t n_tokens_;
    ExpertLayout layout_;
    std::vector<const std::byte*> blocks_;
    std::vector<std::int32_t> choice_, read_, order_;
    std::vector<ExpertCall> calls_;
    const std::byte* const* table_ = nullptr;
    std::int32_t *chosen_ = nullptr, *row_token_ = nullptr, *row_of_ = nullptr;
    float *inputs_ = nullptr, *grouped_ = nullptr, *listed_ = nullptr;
};

// Returns whether the GPU did all of it, with the same bits either way.
bool print_shape(CudaContext& context, const Shape& shape, std::int64_t n_tokens, bool one, bool always, int rounds) {
    Layer layer(context, shape, n_tokens, one);
    context.set_byte_inputs(ByteInputTypes::all());
    std::printf(
        "{\"experts\": \"%s\", \"gpu\": \"%s\", \"cublas\": \"%s\", \"tokens\": %d, \"choice\": \"%s\", "
        "\"listed_us\": %.1f",
        shape.name, context.facts().name.c_str(), context.facts().cublas.c_str(), static_cast<int>(n_tokens),
        one ? "one" : "even", layer.time_us(rounds, [&] { layer.list(); }));
    bool same = true;
    const bool chosen = layer.takes_grouped();
    if (chosen || always) {
        std::printf(", \"grouped_us\": %.1f, \"chosen\": %s", layer.time_us(rounds, [&] { layer.group(); }),
                    chosen ? "true" : "false");
    }
    if (chosen && !one) same = layer.same_bits();  // cuBLAS, for many rows, has its own
    const CudaFailure failure = context.failure();
    const bool ok = failure.none() && same;
    std::printf(", \"ok\": %s}\n", ok ? "true" : "false");
    std::fflush(stdout);
    if (!failure.none()) std::fprintf(stderr, "prompt_experts: %s: %s\n", shape.name, failure.text.c_str());
    if (!same) std::fprintf(stderr, "prompt_experts: %s: grouping changes bits\n", shape.name);
    return ok;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::int64_t> tokens = {512};
    int rounds = 20;
    bool one = false, always = false, narrow = false;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--tokens") {
            tokens.clear();
            std::istringstream list(argv[i + 1]);
            for (std::string n; std::getline(list, n, ',');) tokens.push_back(std::atoll(n.c_str()));
        }
        if (option == "--choice") one = std::string(argv[i + 1]) == "one";
        if (option == "--rounds") rounds = std::atoi(argv[i + 1]);
        if (option == "--groups") always = std::string(argv[i + 1]) == "always";
        if (option == "--widths") narrow = std::string(argv[i + 1]) == "narrow";
    }
    CudaOpening opening = open_cuda_context(0);
    if (opening.context == nullptr) {
        std::fprintf(stderr, "prompt_experts: no GPU can be opened: %s\n", opening.reason.text.c_str());
        return 1;
    }
    bool ok = true;
    const auto print = [&](const auto& shapes) {
        for (const Shape& shape : shapes) {
            if (always && !is_packed(shape.type)) continue;
            for (const std::int64_t n : tokens) {
                ok = print_shape(*opening.context, shape, n, one, always, rounds) && ok;
            }
        }
    };
    if (narrow) {
        print(kNarrow);
    } else {
        print(kReal);
    }
    return ok ? 0 : 1;
}
