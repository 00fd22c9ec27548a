#pragma once

#include <array>
#include <cstdint>

#include "engine/plan/calibrate_host.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/forecast.h"
#include "engine/plan/planner.h"

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
    std::int64_t to_device = 0;    // experts that the device gets a copy of: new there, or in another format
    std::int64_t from_device = 0;  // copies there that go, or are of the wrong format
    std::int64_t to_ram = 0;       // copies to be made in RAM, from the master
    std::int64_t quantized = 0;    // experts that change to a packed format, from the master
    std::uint64_t bus_bytes = 0;   // of the copies to the device
    std::uint64_t ram_bytes = 0;   // of the copies in RAM
    double quantized_weights = 0;
    double bus_us = 0;         // of the copies to the device, one after the other
    double disk_us = 0;        // of reading experts that no memory holds: the checkpoint, or copies quantized before
    double quantizing_us = 0;  // of quantizing, by one thread

    std::uint64_t bytes_to_move() const { return bus_bytes + ram_bytes; }
};

// Both plans are of the demand's model. `cost` prices copies and reading, `speeds`
// quantizing (both may be nullptr); unknown prices count as 0. Assumes the slower case
// throughout: nothing of the checkpoint is in the system's cache, and nothing has been
// quantized before.
Transition transition(const Plan& from, const Plan& to, const ModelDemand& demand, const CostModel* cost = nullptr,
                      const QuantizingSpeeds* speeds = nullptr);

// The time if reading, quantizing and copying follow each other, as in a background
// migration.
double seconds_of(const Transition& transition);

void add_transition(const Transition& transition, Forecast& forecast);

}  // namespace offstage::engine
