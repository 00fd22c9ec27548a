#pragma once

#include <array>
#include <cstdint>

#include "engine/plan/model_demand.h"

namespace offstage::engine {

// The actual or wanted copies of an expert, and their format.
struct ExpertCopies {
    bool ram = false;
    bool device = false;
    kernels::WeightType format = kernels::WeightType::kBf16;
};

// The steps that give an expert its wanted copies: one rule for estimates and for the
// Migrator.
struct ExpertMove {
    bool packs = false;    // reads it from the master into RAM, in the format that it should have,
    bool changes = false;  // which is another one than it has
    bool uploads = false;  // copies it to the device
    int copies = 0;        // that exist afterwards, and did not before
};
ExpertMove move_of(const ExpertCopies& has, const ExpertCopies& wanted);

// The work of a migration, planned or done.
struct MigrationWork {
    using Counts = std::array<std::int64_t, kernels::kWeightTypes>;  // experts, by the format that they should have
    Counts packed{};                                                 // as they are in the master or were before
    Counts changed{};                                                // packed in another format
    Counts uploaded{};
    std::int64_t copies = 0;

    void add(const ExpertMove& move, kernels::WeightType format);
    MigrationWork operator-(const MigrationWork& done) const;
    friend bool operator==(const MigrationWork&, const MigrationWork&) = default;
};

// Microseconds of each of these for one expert, by format; 0: not known.
struct MigrationRates {
    using Us = std::array<double, kernels::kWeightTypes>;
    Us pack_us{}, change_us{}, upload_us{};

    // Adds the time of one expert with weight one half, so that the last few experts
    // decide the rate.
    static void learn(Us& rates, kernels::WeightType format, double us);
};

// One after the other, as a migration in the background works. `expected` replaces values
// that were not measured.
double us_of(const MigrationWork& work, const MigrationRates& measured, const MigrationRates& expected);

// The work that turns one plan into another.
struct Transition {
    MigrationWork work;
    std::uint64_t bytes_to_move = 0;  // of the copies: to the device over the bus, in RAM from the master
    std::int64_t quantized = 0;       // experts that change to a packed format, from the master
};

// Both plans are of the demand's model.
Transition transition(const Plan& from, const Plan& to, const ModelDemand& demand);

}  // namespace offstage::engine
