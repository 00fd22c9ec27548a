#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/load_settings.h"
#include "engine/plan/measurement_store.h"
#include "kernels/expert_spec.h"
#include "kernels/types.h"

namespace offstage::engine {

struct CostPoint {
    std::int64_t n_tokens = 1;
    double us = 0;
};

// Steps of up to so many tokens copy the experts' input to the host at once, before it is
// known whether the CPU takes part: one wait less per layer.
inline constexpr std::int64_t kEagerTokens = 64;

// Whether stored costs are in doubt, because a run was far from its forecast.
enum class CostDoubt : std::uint8_t {
    kNone,
    kRaised,   // the next load measures again
    kAnswered  // the next load measured again: remaining errors are the forecast's, and further runs raise no doubt
};

// The cost of one expert that is read from the disk into RAM, ready for use.
// Microseconds.
struct DiskReadCost {
    double us = 0;                 // until it is there, with others read before and after it; 0: unknown
    double cpu_us = 0;             // so much longer the CPU's own work takes that goes on beside it
    double latency_us = 0;         // so much longer the first one takes when nothing was being read
    double check_us = 0;           // of one that is read alone, for checks; 0: not measured
    std::int64_t measured_at = 0;  // seconds since 1970
    CostDoubt doubt = CostDoubt::kNone;
};

// The time of a model's step beside its routed experts: embedding, attention, routers,
// shared experts, dense layers, head, and the launches and hand-overs of all of them.
// Microseconds. From engine/run/dense_costs.
struct DenseCosts {
    std::vector<CostPoint> step;   // of n tokens at the beginning of a sequence, ascending
    std::vector<CostPoint> past;   // extra time of a step of one token after n others, ascending
    std::vector<CostPoint> pairs;  // the same of one of a step's many tokens
    std::int64_t n_active = 1;     // experts of a token
    double guess_us = 0;           // extra time of a step of one token that guesses the next layers' experts
    double check_us = 0;           // a step of one token of those layers that were measured
    std::int64_t measured_at = 0;  // seconds since 1970
    bool disturbed = false;        // other work came between, all the time: a quiet machine measures again
    CostDoubt doubt = CostDoubt::kNone;

    bool known() const { return !step.empty(); }
    double step_us(std::int64_t n_tokens, std::int64_t n_past) const;
    // For a prompt that is read in steps of at most max_step tokens.
    double prompt_us(std::int64_t prompt_tokens, std::int64_t max_step) const;
};

// An expert of one token on the CPU with a theta: `factor` times as long as without,
// where such a share of its neurons is active.
struct SparseFactor {
    double share = 0;
    double factor = 1;
};

// Measured costs of one device, one expert shape and one format (Fiddler, appendix A,
// figure 7). Microseconds.
struct CostTable {
    std::string device;       // DeviceInfo::name
    std::string weight_type;  // "BF16"
    std::int64_t hidden_dim = 0;
    std::int64_t ffn_dim = 0;
    int n_matrices = 3;  // of an expert
    std::uint64_t expert_bytes = 0;
    bool pinned = false;                     // the host side of weight copies was page-locked
    double weight_copy_us = 0;               // one expert, host to device
    DiskReadCost disk;                       // one expert from disk into a slot in RAM
    bool disk_beside = false;                // experts are read while the CPU computes with others
    std::vector<CostPoint> activation_copy;  // there and back, n tokens
    std::vector<CostPoint> gpu_expert;       // ascending n_tokens; empty: no accelerator
    std::vector<CostPoint> cpu_expert;
    std::vector<SparseFactor> sparse_cpu;  // shares ascending; empty: not measured, or nothing is left unread
    double sync_us = 0;                    // one hand-over to the host and back, without the copies
    double cpu_slowdown = 1;               // CPU experts while a copy runs (they share DRAM)
    double copy_slowdown = 1;              // copies while CPU experts of one token run
    DenseCosts dense;
    bool emulated = false;
    std::int64_t measured_at = 0;  // seconds since 1970; 0: not measured
    bool disturbed = false;        // as DenseCosts has it
    CostDoubt doubt = CostDoubt::kNone;

    bool has_accelerator() const { return !gpu_expert.empty(); }
};

template <>
struct StoredAs<DiskReadCost> {
    static constexpr const char* kField = "disk";
    static void write(const DiskReadCost& read, nlohmann::json& out);
    static DiskReadCost read(const JsonFields& fields);
};
template <>
struct StoredAs<DenseCosts> {
    static constexpr const char* kField = "dense";
    static void write(const DenseCosts& costs, nlohmann::json& out);
    static DenseCosts read(const JsonFields& fields);
};
template <>
struct StoredAs<CostTable> {
    static constexpr const char* kField = "table";
    static void write(const CostTable& table, nlohmann::json& out);
    static CostTable read(const JsonFields& fields);
};

// The number of weights that one thread quantizes (HQQ) in a second, with the device's
// help where there is some, by format; 0: not measured.
using QuantizingSpeeds = std::array<double, kernels::kWeightTypes>;

template <>
struct StoredAs<QuantizingSpeeds> {
    static constexpr const char* kField = "weights_per_s";
    static void write(const QuantizingSpeeds& speeds, nlohmann::json& out);
    static QuantizingSpeeds read(const JsonFields& fields);
};

// Experts with a larger share of active neurons are copied whole (CORM's measured
// cross-over).
inline constexpr double kMostCopiedShare = 0.75;

// The layer of the present decision. Below 0: any layer, by the mean.
struct LayerAtHand {
    std::int64_t index = -1;
    bool prompt = false;  // in a step of a prompt
};

// The assumed share of a token's neurons that a theta leaves active, until it has been
// counted.
inline constexpr double kUnknownActiveShare = 0.5;

// Of a host that is accounted, where only memory counts: ExpertSpec::read_share().
std::vector<SparseFactor> accounted_sparse_factors(const kernels::ExpertSpec& expert);
// Whether neurons that are left out stay unread in this format.
bool lies_by_neurons(kernels::WeightType format);

// Predicts and learns. It interpolates linearly between measured points and continues the
// last segment beyond the last point (never falling). Each side has one correction factor
// per group of token counts (1, 2-8, 9-64, more), which measured layers adjust. One
// thread.
class CostModel {
  public:
    CostModel() = default;
    explicit CostModel(CostTable table);

    // The master's format.
    const CostTable& table() const { return table_; }
    kernels::WeightType master() const { return master_; }
    void set_master(kernels::WeightType format) { master_ = format; }
    // The costs of reading the master's experts.
    void set_disk(const DiskReadCost& read, bool beside) {
        table_.disk = read;
        table_.disk_beside = beside;
    }
    // Measured costs of another format. Without them its times are the master's, scaled
    // by the bytes of an expert.
    void set_table(kernels::WeightType format, CostTable table);
    void set_expert_bytes(kernels::WeightType format, std::uint64_t bytes);

    // Without a format: in the master's.
    double cpu_us(std::int64_t n_tokens) const { return cpu_us(n_tokens, master_); }
    double gpu_us(std::int64_t n_tokens) const { return gpu_us(n_tokens, master_); }
    double weight_copy_us() const { return weight_copy_us(master_); }
    double cpu_us(std::int64_t n_tokens, kernels::WeightType format) const;
    double gpu_us(std::int64_t n_tokens, kernels::WeightType format) const;
    double weight_copy_us(kernels::WeightType format) const;
    double activation_copy_us(std::int64_t n_tokens) const;
    DiskReadCost disk_read(kernels::WeightType format) const;
    // Only for formats of the file; others are quantized, or read from the cache of
    // quantized experts, by the thread that waits for them.
    bool reads_beside(kernels::WeightType format) const {
        return table_.disk_beside && (format == master_ || kernels::traits_of(format).is_of_file());
    }

    // ---- with a theta (kernels::ExpertSpec): the share of active neurons
    // Without a theta all are active. loading: whether experts are copied without
    // inactive ones (SparseCopies). prior: a token's share until a layer's were counted;
    // 0: kUnknownActiveShare. priors: the same by layer, where it is known; otherwise
    // empty.
    void set_theta(double theta, SparseLoading loading, double prior, std::span<const double> priors = {});
    bool leaves_out() const { return theta_ > 0; }
    double theta() const { return theta_; }
    // Counted in a layer: (token, neuron) pairs, and those of them that were active.
    void add_active(std::int64_t layer, std::uint64_t neurons, std::uint64_t active);
    // The share of an expert's neurons that at least one of n tokens needs. layer < 0:
    // the mean layer.
    double active_share(std::int64_t layer, std::int64_t n_tokens) const;
    // The measured time of an expert on the CPU with this share of active neurons,
    // divided by that without a theta. 1: not measured.
    double sparse_factor(kernels::WeightType format, double share) const;
    // Choosing: the CPU multiplies n tokens by w1. Gathering: it collects this share of
    // an expert's bytes for a copy.
    double choosing_us(std::int64_t n_tokens, kernels::WeightType format) const;
    double gathering_us(kernels::WeightType format, double share) const;
    // The share above which gathering and copying take longer than copying the whole
    // expert.
    double cross_over(kernels::WeightType format) const;
    // Costs of an expert in a layer of an answer's step: on the CPU, without reading
    // neurons that are left out; on the device; and of a copy, the CPU's part and the
    // bus's. In a prompt's step experts are copied whole.
    struct ExpertCosts {
        double cpu_us = 0;
        double gpu_us = 0;  // of a copied one: only the copied neurons
        double preparing_us = 0, copy_us = 0;
        double copied_share = 1;  // of its bytes
    };
    // held: the share of the needed neurons that the device has already.
    ExpertCosts expert_costs(const LayerAtHand& layer, std::int64_t n_tokens, kernels::WeightType format,
                             double held = 0) const;
    // Whether choosing, gathering and copying is expected to take less time than copying
    // the whole expert.
    bool copies_sparse(std::int64_t layer, std::int64_t n_tokens, kernels::WeightType format, double held = 0) const;
    void correct_choosing(double expected_us, double measured_us) { move(choosing_factor_, expected_us, measured_us); }
    void correct_gathering(double expected_us, double measured_us) {
        move(gathering_factor_, expected_us, measured_us);
    }

    enum class Side : std::uint8_t { kCpu, kGpu, kCopy };
    // Corrects the factor for layers of `tokens_per_expert` tokens (mean) by a prediction
    // and its measurement. The factor moves a tenth of the way (in the logarithm, so that
    // one outlier moves it little), stays within 1/8 .. 8, and ignores predictions or
    // measurements of 0. Copies have one factor for all token counts.
    void correct(Side side, double tokens_per_expert, double predicted_us, double measured_us);

  private:
    static constexpr int kGroups = 4;
    static int group(double tokens_per_expert);
    // Times of another format: from its own table, or the master's times `scale`.
    struct Other {
        bool measured = false;
        double scale = 1;
        CostTable table;
    };
    const CostTable& times(kernels::WeightType format, double& scale) const;

    CostTable table_;
    kernels::WeightType master_ = kernels::WeightType::kBf16;
    Other others_[kernels::kWeightTypes];
    static void move(double& factor, double predicted_us, double measured_us);

    // Sums in which older counts lose weight.
    struct Counted {
        double neurons = 0, active = 0;
    };
    double theta_ = 0;
    SparseLoading loading_ = SparseLoading::kOff;
    double prior_share_ = kUnknownActiveShare;
    std::vector<double> priors_;    // by layer, or empty
    std::vector<Counted> counted_;  // by layer
    double choosing_factor_ = 1, gathering_factor_ = 1;
    double factor_[3][kGroups] = {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}};
};

}  // namespace offstage::engine
