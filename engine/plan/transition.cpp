#include "engine/plan/transition.h"

#include <algorithm>
#include <cassert>

namespace offstage::engine {
namespace {

using kernels::WeightType;

std::size_t at(WeightType format) {
    return static_cast<std::size_t>(format);
}

}  // namespace

ExpertMove move_of(const ExpertCopies& has, const ExpertCopies& wanted) {
    ExpertMove move;
    const bool changes = has.format != wanted.format;
    const bool new_ram = wanted.ram && (changes || !has.ram);
    move.uploads = wanted.device && (changes || !has.device);
    move.packs = new_ram || (move.uploads && (changes || !has.ram));
    move.changes = changes && move.packs;
    move.copies = static_cast<int>(new_ram) + static_cast<int>(move.uploads);
    return move;
}

void MigrationWork::add(const ExpertMove& move, WeightType format) {
    if (move.packs) ++(move.changes ? changed : packed)[at(format)];
    if (move.uploads) ++uploaded[at(format)];
    copies += move.copies;
}

MigrationWork MigrationWork::operator-(const MigrationWork& done) const {
    MigrationWork left = *this;
    for (std::size_t f = 0; f < packed.size(); ++f) {
        left.packed[f] -= done.packed[f];
        left.changed[f] -= done.changed[f];
        left.uploaded[f] -= done.uploaded[f];
    }
    left.copies -= done.copies;
    return left;
}

void MigrationRates::learn(Us& rates, WeightType format, double us) {
    if (!(us > 0)) return;  // a clock that does not count it
    double& rate = rates[at(format)];
    rate = rate > 0 ? (rate + us) / 2 : us;
}

double us_of(const MigrationWork& work, const MigrationRates& measured, const MigrationRates& expected) {
    double us = 0;
    const auto add = [&](const MigrationWork::Counts& counts, const MigrationRates::Us& known,
                         const MigrationRates::Us& else_us) {
        for (std::size_t f = 0; f < counts.size(); ++f) {
            us += static_cast<double>(counts[f]) * (known[f] > 0 ? known[f] : else_us[f]);
        }
    };
    add(work.packed, measured.pack_us, expected.pack_us);
    add(work.changed, measured.change_us, expected.change_us);
    add(work.uploaded, measured.upload_us, expected.upload_us);
    return us;
}

Transition transition(const Plan& from, const Plan& to, const ModelDemand& demand) {
    assert(from.places.size() == to.places.size());
    const WeightType master = demand.formats.empty() ? WeightType::kBf16 : demand.formats.front().format;
    const auto has_ram_copy = [&](const Plan& plan, std::size_t i) {
        return plan.places[i] == Place::kRam || (plan.places[i] == Place::kDevice && plan.duplicates);
    };
    Transition sum;
    for (std::size_t i = 0; i < to.places.size(); ++i) {
        const WeightType old_format = from.format(i, master);
        const WeightType format = to.format(i, master);
        const ModelDemand::Format* const size = demand.find(format);
        const std::uint64_t bytes = size != nullptr ? size->expert_bytes : demand.expert_bytes;
        const ExpertMove move = move_of({has_ram_copy(from, i), from.places[i] == Place::kDevice, old_format},
                                        {has_ram_copy(to, i), to.places[i] == Place::kDevice, format});
        sum.work.add(move, format);
        // A copy that leaves the device for RAM comes over the bus or from the master:
        // the slower of both is counted.
        sum.bytes_to_move += bytes * static_cast<std::uint64_t>(move.copies);
        // Experts on disk are packed when they are called.
        const bool changes = format != old_format && to.places[i] != Place::kDisk;
        if (changes && kernels::is_packed(format) && size != nullptr) ++sum.quantized;
    }
    return sum;
}

}  // namespace offstage::engine
