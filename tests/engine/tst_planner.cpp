#include <algorithm>
#include <random>

#include <QtTest>

#include "engine/error.h"
#include "engine/files/read_buffers.h"
#include "engine/plan/planner.h"
#include "tests/engine/plan_values.h"

using namespace offstage::engine;
using namespace offstage::tests;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Mixtral-8x7B in 16 bits, about.
ModelDemand mixtral() {
    ModelDemand d;
    d.n_layers = 32;
    d.n_experts = 8;
    d.n_active = 2;
    d.expert_bytes = std::uint64_t{3} * 4096 * 14336 * 2;
    d.formats = {{FormatId::kBf16, d.expert_bytes, 16}};
    d.dense_bytes = 3 * kGiB;
    d.kv_groups = {{0, {0, std::uint64_t{32} * 2 * 8 * 128 * 4, 0}}};
    d.host_fixed_bytes = kGiB;
    d.max_context = 32768;
    d.workspace_fixed_bytes = 64 * kMiB;
    d.workspace_bytes_per_token = 300'000;
    return d;
}

std::uint64_t workspace(const ModelDemand& d, std::int64_t step) {
    return d.workspace_fixed_bytes + d.workspace_bytes_per_token * static_cast<std::uint64_t>(step);
}

std::uint64_t kv(const ModelDemand& d, std::int64_t context) {
    std::uint64_t bytes = 0;
    for (const KvGroupDemand& group : d.kv_groups) {
        std::int64_t blocks = (context + 63) / 64;
        if (group.window > 0) blocks = std::min(blocks, 2 * ((group.window + 8 + 63) / 64 + 1));
        bytes += group.token_bytes[1] * static_cast<std::uint64_t>(blocks * 64);
    }
    return bytes;
}

Popularity even_popularity(const ModelDemand& d) {
    return Popularity::uniform(d.n_layers, d.n_experts, d.n_active);
}

Popularity fiddler() {
    return read_popularity(OFFSTAGE_SOURCE_DIR "/resources/profiles/mixtral-8x7b-fiddler.json");
}

std::int64_t count(const Plan& plan, Place place) {
    return std::count(plan.places.begin(), plan.places.end(), place);
}

std::string failure(const ModelDemand& d, const Budget& budget) {
    try {
        make_plan(d, budget, even_popularity(d), PlacementKind::kPopular);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::kOutOfMemory) return error.what();
        return std::string("another kind: ") + error.what();
    }
    return {};
}

// "... need N bytes (..), M bytes more", or "1 byte more": M.
std::uint64_t bytesMissing(const std::string& message) {
    const std::size_t end =
        message.find(message.find(" byte more") != std::string::npos ? " byte more" : " bytes more");
    if (end == std::string::npos) return 0;
    const std::size_t begin = message.rfind(' ', end - 1) + 1;
    return std::stoull(message.substr(begin, end - begin));
}

struct Random {
    std::mt19937_64 engine;
    std::uint64_t log(double low, double high) {
        const double x = low * std::pow(high / low, std::uniform_real_distribution<>(0, 1)(engine));
        return static_cast<std::uint64_t>(x);
    }
    std::int64_t in(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine);
    }
};

ModelDemand randomDemand(Random& random) {
    ModelDemand d;
    d.n_layers = random.in(1, 12);
    d.n_experts = random.in(1, 20);
    d.n_active = random.in(1, d.n_experts);
    d.expert_bytes = random.log(1000, 1e9);
    d.formats = {{FormatId::kBf16, d.expert_bytes, 16}};
    d.dense_bytes = random.log(100, 1e10);
    d.kv_groups = {{0, {0, random.log(1, 1e6), 0}}};
    if (random.in(0, 2) == 0) d.kv_groups.push_back({random.in(1, 5000), {0, random.log(1, 1e6), 0}});
    d.host_fixed_bytes = random.log(1, 1e10);
    d.max_context = random.in(1, 100'000);
    d.workspace_fixed_bytes = random.log(1, 1e8);
    d.workspace_bytes_per_token = random.log(1, 1e6);
    d.shares_host_memory = random.in(0, 3) == 0;
    return d;
}

Popularity randomPopularity(Random& random, const ModelDemand& d) {
    Popularity p = even_popularity(d);
    if (random.in(0, 3) != 0) {
        for (double& c : p.counts) c = static_cast<double>(random.log(1, 1e6));
    }
    return p;
}

// More than a plan with experts on disk may leave of RAM: an expert, and the window of
// another conversation.
std::uint64_t unused(const ModelDemand& d, const Plan& plan, std::int64_t wish) {
    const std::int64_t n = d.sequences_in(plan.context, plan.kept_bytes);
    const std::int64_t next = std::min(n + 1, kMostOtherSequences);
    // On the CPU room is reserved before the context's length is known.
    const std::uint64_t wished = d.sequences_bytes(wish, kMostOtherSequences);
    const std::uint64_t of_wish =
        d.shares_host_memory ? wished - std::min(wished, d.sequences_bytes(plan.context, kMostOtherSequences)) : 0;
    return d.expert_bytes + d.sequences_bytes(plan.context, next) - d.sequences_bytes(plan.context, n) + of_wish + 1;
}

std::uint64_t whole(const ModelDemand& d) {
    return d.dense_bytes + kv(d, std::min<std::int64_t>(d.max_context, 32768)) + workspace(d, 4096) +
           static_cast<std::uint64_t>(d.n_layers * d.n_experts) * d.expert_bytes;
}

}  // namespace

class TestPlanner : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void plan_withoutLimits_holdsEverythingOnTheDevice() {
        const ModelDemand d = mixtral();
        const Plan plan = make_plan(d, {}, even_popularity(d), PlacementKind::kPopular);
        QCOMPARE(plan.n_resident(), 256);
        QCOMPARE(plan.context, 32768);
        QCOMPARE(plan.max_step, 2048);
        QCOMPARE(plan.staging_slots, 0);
        QCOMPARE(plan.staging_bytes, std::uint64_t{0});
        QCOMPARE(plan.expert_bytes, 256 * d.expert_bytes);
        QCOMPARE(plan.ram_bytes, d.host_fixed_bytes + 256 * d.expert_bytes);
        QVERIFY(plan.duplicates);
        QCOMPARE(plan.expected_hit_rate, 1.0);
        QVERIFY2(plan.note.empty(), plan.note.english().c_str());
    }

    // Fiddler, appendix C: the resident experts of its two environments, by popularity.
    void plan_ofFiddlersEnvironments_hasThePublishedHitRate_data() {
        QTest::addColumn<int>("n");
        QTest::addColumn<double>("best");
        QTest::addColumn<double>("even");
        QTest::newRow("environment 1") << 56 << 0.252 << 0.219;
        QTest::newRow("environment 2") << 125 << 0.530 << 0.488;
    }
    void plan_ofFiddlersEnvironments_hasThePublishedHitRate() {
        QFETCH(int, n);
        QFETCH(double, best);
        QFETCH(double, even);
        ModelDemand d = mixtral();
        d.workspace_bytes_per_token = 0;  // so that the workspace does not grow with the budget
        Budget budget;
        budget.context = 4096;
        budget.vram_bytes =
            d.dense_bytes + kv(d, 4096) + workspace(d, 512) + static_cast<std::uint64_t>(n + 2) * d.expert_bytes;
        const Plan plan = make_plan(d, budget, fiddler(), PlacementKind::kPopular);
        QCOMPARE(plan.n_resident(), n);
        QVERIFY2(std::abs(plan.expected_hit_rate - best) <= 0.0005,
                 qPrintable(QString::number(plan.expected_hit_rate)));
        const Plan uniform = make_plan(d, budget, even_popularity(d), PlacementKind::kPopular);
        QVERIFY(std::abs(uniform.expected_hit_rate - even) <= 0.0005);
    }

    void plan_withoutCounts_spreadsExpertsOverLayers() {
        const ModelDemand d = mixtral();
        const Plan plan = make_plan(d, {24 * kGiB, 0, 2048}, even_popularity(d), PlacementKind::kPopular);
        QVERIFY(plan.n_resident() > 32);
        std::int64_t least = 8;
        std::int64_t most = 0;
        for (std::int64_t layer = 0; layer < 32; ++layer) {
            std::int64_t n = 0;
            for (std::int64_t e = 0; e < 8; ++e) n += plan.place(layer, 8, e) == Place::kDevice ? 1 : 0;
            least = std::min(least, n);
            most = std::max(most, n);
        }
        QVERIFY(most - least <= 1);
    }

    void plan_ofLayers_takesWholeLayersFromTheEnd() {
        const ModelDemand d = mixtral();
        const Plan plan = make_plan(d, {24 * kGiB, 0, 2048}, fiddler(), PlacementKind::kLayers);
        const std::int64_t n = plan.n_resident();
        QVERIFY(n > 0 && n % 8 == 0);
        for (std::int64_t i = 0; i < 256; ++i)
            QCOMPARE(plan.places[static_cast<std::size_t>(i)], i >= 256 - n ? Place::kDevice : Place::kRam);
    }

    void context_unnamed_isShortenedBeforeExpertsLeave() {
        const ModelDemand d = mixtral();
        const Plan plan = make_plan(d, {24 * kGiB, 0, 0}, even_popularity(d), PlacementKind::kPopular);
        Budget named{24 * kGiB, 0, 16384};
        named.largest_step = 2048;  // as without a named context
        const Plan usual = make_plan(d, named, even_popularity(d), PlacementKind::kPopular);
        QCOMPARE(plan.n_resident(), usual.n_resident());
        QVERIFY(plan.context >= 16384 && plan.context < 32768);
        QVERIFY2(plan.note.english().find("The context is " + std::to_string(plan.context) +
                                          " tokens instead of 32768") != std::string::npos,
                 plan.note.english().c_str());
    }

    // Where the memory does not hold 16,384 tokens without experts, as many as it holds.
    void context_unnamed_isAsLongAsMemoryAllows() {
        const ModelDemand d = mixtral();
        std::int64_t before = 0;
        for (const std::uint64_t mib : {4096, 5120, 6144, 7168}) {
            const Plan plan = make_plan(d, {mib * kMiB, 0, 0}, even_popularity(d), PlacementKind::kPopular);
            QVERIFY2(plan.context > before && plan.context < 16384, qPrintable(QString::number(plan.context)));
            QVERIFY(plan.context >= 2048 && plan.max_step >= 512);
            QCOMPARE(plan.n_resident(), 0);
            QCOMPARE(plan.kv_host_bytes, std::uint64_t{0});
            before = plan.context;
        }
        const Plan first = make_plan(d, {9 * kGiB, 0, 0}, even_popularity(d), PlacementKind::kPopular);
        QVERIFY(first.context >= 16384 && first.n_resident() > 0);
    }

    void context_named_isKeptThoughExpertsLeave() {
        const ModelDemand d = mixtral();
        const Plan plan = make_plan(d, {24 * kGiB, 0, 32768}, even_popularity(d), PlacementKind::kPopular);
        QCOMPARE(plan.context, 32768);
        QVERIFY(plan.n_resident() <
                make_plan(d, {24 * kGiB, 0, 2048}, even_popularity(d), PlacementKind::kPopular).n_resident());
    }

    void step_ofATightBudget_growsWithinATenthOfIt() {
        const ModelDemand d = mixtral();
        const Plan small = make_plan(d, {8 * kGiB, 0, 8192}, even_popularity(d), PlacementKind::kPopular);
        const Plan large = make_plan(d, {48 * kGiB, 0, 8192}, even_popularity(d), PlacementKind::kPopular);
        QVERIFY(small.max_step >= 512);
        QVERIFY(large.max_step > small.max_step);
        QCOMPARE(large.max_step, 4096);
        // The remainder of the division into experts may be added.
        QVERIFY(small.workspace_bytes <= 8 * kGiB / 10 + d.expert_bytes);
        QCOMPARE(small.workspace_bytes, workspace(d, small.max_step));
    }

    // If all experts fit, steps grow by a quarter of the remaining memory, to 2048
    // tokens: on a device and on the host.
    void step_whereAllFits_growsIntoWhatIsLeft() {
        for (const bool on_host : {false, true}) {
            ModelDemand d = mixtral();
            d.shares_host_memory = on_host;
            const auto plan_in = [&](std::uint64_t bytes) {
                Budget budget;
                budget.context = 32768;
                (on_host ? budget.ram_bytes : budget.vram_bytes) = bytes;
                return make_plan(d, budget, even_popularity(d), PlacementKind::kPopular);
            };
            const std::uint64_t all = d.dense_bytes + kv(d, 32768) + workspace(d, 512) + 256 * d.expert_bytes +
                                      (on_host ? d.host_fixed_bytes + d.kept_bytes() : 0);
            QCOMPARE(plan_in(all).max_step, 512);
            QCOMPARE(plan_in(all + 4 * 1000 * d.workspace_bytes_per_token).max_step, 1512);
            const Plan roomy = plan_in(all + 4 * 1536 * d.workspace_bytes_per_token);
            QCOMPARE(roomy.max_step, 2048);
            QCOMPARE(roomy.workspace_bytes, workspace(d, 2048));
            QCOMPARE(plan_in(2 * all).max_step, 2048);
        }
    }

    void ram_short_firstDropsDuplicatesThenGoesToDisk() {
        const ModelDemand d = mixtral();
        const Budget vram = {24 * kGiB, 0, 2048};
        const std::int64_t n = make_plan(d, vram, fiddler(), PlacementKind::kPopular).n_resident();
        const auto ram = [&](std::int64_t experts) {
            return d.host_fixed_bytes + static_cast<std::uint64_t>(experts) * d.expert_bytes;
        };
        const auto planned = [&](std::uint64_t bytes) {
            return make_plan(d, {vram.vram_bytes, bytes, 2048}, fiddler(), PlacementKind::kPopular);
        };
        Plan plan = planned(ram(256));
        QVERIFY(plan.duplicates);
        QCOMPARE(plan.ram_bytes, ram(256));

        plan = planned(ram(256) - 1);
        QVERIFY(!plan.duplicates);
        QCOMPARE(count(plan, Place::kRam), 256 - n);
        QCOMPARE(plan.ram_bytes, ram(256 - n));
        QCOMPARE(plan.host_staging_slots, 0);

        {  // Read directly: room for bytes on their way, and for guesses where that is little beside the experts.
            ModelDemand direct = d;
            direct.reads_directly = true;
            direct.disk_guess_slots = 2;
            const auto plan_in = [&](std::uint64_t bytes) {
                return make_plan(direct, {vram.vram_bytes, bytes, 2048}, fiddler(), PlacementKind::kPopular);
            };
            const Plan roomy = plan_in(ram(256 - n) - 1);
            QCOMPARE(roomy.host_staging_slots, 4);
            QCOMPARE(roomy.disk_buffer_bytes, read_buffers_for(roomy.slot_bytes, 4).bytes());
            QCOMPARE(roomy.ram_bytes, ram(count(roomy, Place::kRam) + 4) + roomy.disk_buffer_bytes);
            QVERIFY(roomy.ram_bytes <= ram(256 - n) - 1);
            const std::uint64_t least = ram(2) + read_buffers_for(roomy.slot_bytes, 2).bytes();
            QCOMPARE(plan_in(least).host_staging_slots, 2);
            // Without that room they come through the mapped file.
            QCOMPARE(plan_in(least - 1).disk_buffer_bytes, std::uint64_t{0});
            QCOMPARE(plan_in(ram(2)).host_staging_slots, 2);
            QVERIFY_THROWS_EXCEPTION(Error, plan_in(ram(2) - 1));
        }

        plan = planned(ram(256 - n) - 1);
        QCOMPARE(plan.n_resident(), n);
        QCOMPARE(plan.host_staging_slots, 2);
        QCOMPARE(count(plan, Place::kRam), 256 - n - 3);
        QCOMPARE(count(plan, Place::kDisk), 3);
        QVERIFY(plan.note.english().find("3 experts are read from disk") != std::string::npos);
        // The least popular ones.
        const Popularity p = fiddler();
        double largest_on_disk = 0;
        double smallest_elsewhere = 1e9;
        for (std::size_t i = 0; i < 256; ++i) {
            if (plan.places[i] == Place::kDisk)
                largest_on_disk = std::max(largest_on_disk, p.counts[i]);
            else
                smallest_elsewhere = std::min(smallest_elsewhere, p.counts[i]);
        }
        QVERIFY(largest_on_disk <= smallest_elsewhere);

        plan = planned(ram(2));
        QCOMPARE(count(plan, Place::kRam), 0);
        QCOMPARE(plan.ram_bytes, ram(2));
        const std::string message = failure(d, {vram.vram_bytes, ram(2) - 1, 2048});
        QVERIFY2(message.find("RAM") != std::string::npos && bytesMissing(message) == 1, message.c_str());
    }

    void plan_onTheCpu_placesInRamOrOnDisk() {
        ModelDemand d = mixtral();
        d.shares_host_memory = true;
        Plan plan = make_plan(d, {1, 0, 0}, fiddler(), PlacementKind::kPopular);
        QCOMPARE(count(plan, Place::kRam), 256);
        QCOMPARE(plan.expected_hit_rate, 1.0);
        plan = make_plan(d, {0, 60 * kGiB, 4096}, fiddler(), PlacementKind::kPopular);
        QCOMPARE(plan.n_resident(), 0);
        QVERIFY(count(plan, Place::kRam) > 0 && count(plan, Place::kDisk) > 0);
        QCOMPARE(plan.expert_bytes, std::uint64_t{0});
        QCOMPARE(plan.staging_slots, 0);
        QVERIFY(plan.ram_bytes <= 60 * kGiB);
        QVERIFY(plan.ram_bytes + d.expert_bytes > 60 * kGiB);
    }

    void budget_tooSmall_saysByHowMuchAndWhatFits() {
        const ModelDemand d = mixtral();
        const std::uint64_t least = d.dense_bytes + kv(d, 2048) + workspace(d, 64);
        QVERIFY(failure(d, {least, 0, 0}).empty());
        std::string message = failure(d, {least - 1000, 0, 0});
        QCOMPARE(bytesMissing(message), std::uint64_t{1000});
        QVERIFY2(message.find("need " + std::to_string(least) + " bytes") != std::string::npos, message.c_str());
        QVERIFY2(message.find("A context of 1984 tokens would fit") != std::string::npos, message.c_str());
        QVERIFY(failure(d, {least - 1000, 0, 1984}).empty());

        message = failure(d, {kGiB, 0, 0});
        QCOMPARE(bytesMissing(message), least - kGiB);
        QVERIFY2(message.find("would fit") == std::string::npos, message.c_str());
        QVERIFY(failure(d, {bytesMissing(message) + kGiB, 0, 0}).empty());
    }

    // Asked for or not.
    void context_withoutRoomOnTheDevice_liesInRam() {
        ModelDemand d = mixtral();
        d.kv_may_lie_in_ram = true;
        const std::uint64_t bytes = d.dense_bytes + kv(d, 1024) + workspace(d, 64);
        for (const std::int64_t context : {0, 2048}) {
            const Plan plan = make_plan(d, {bytes, 0, context}, fiddler(), PlacementKind::kPopular);
            QCOMPARE(plan.context, 2048);
            QVERIFY(plan.kv_device_blocks > 0 && plan.kv_host_bytes > 0);
            QVERIFY(plan.vram_bytes() <= bytes);
            // What is missing where nothing helps is what would be enough so.
            const std::uint64_t missing = bytesMissing(failure(d, {kGiB, 0, context}));
            QVERIFY(failure(d, {kGiB + missing, 0, context}).empty());
            QVERIFY(!failure(d, {kGiB + missing - 4096, 0, context}).empty());
        }
    }

    void popularity_ofAnotherModel_isRefused() {
        const ModelDemand d = mixtral();
        try {
            make_plan(d, {}, Popularity::uniform(32, 16, 2), PlacementKind::kPopular);
            QFAIL("no error");
        } catch (const Error& error) {
            QCOMPARE(error.kind(), ErrorKind::kInvalidInput);
            QVERIFY(std::string(error.what()).find("32 layers of 16 experts") != std::string::npos);
        }
    }

    // Sizes as a damaged file may give them: an error or a plan, nothing wrapped round.
    void sizes_beyondAllBounds_areErrorsNotOverflow_data() {
        QTest::addColumn<int>("field");
        for (int field = 0; field < 6; ++field) QTest::addRow("field %d", field) << field;
    }
    void sizes_beyondAllBounds_areErrorsNotOverflow() {
        QFETCH(int, field);
        for (const std::uint64_t size : {~std::uint64_t{0}, ~std::uint64_t{0} / 2, ~std::uint64_t{0} / 256 + 1}) {
            ModelDemand d = mixtral();
            std::uint64_t* const fields[] = {&d.formats[0].expert_bytes,     &d.dense_bytes,
                                             &d.kv_groups[0].token_bytes[1], &d.host_fixed_bytes,
                                             &d.workspace_fixed_bytes,       &d.workspace_bytes_per_token};
            *fields[field] = size;
            const std::string message = failure(d, {24 * kGiB, 64 * kGiB, 4096});
            QVERIFY2(message.find("does not fit") != std::string::npos, message.c_str());
        }
    }

    void shape_outOfRange_isRefused() {
        for (const auto& [layers, experts, active] : {std::tuple{0, 8, 2}, std::tuple{32, 0, 2}, std::tuple{32, 8, 9},
                                                      std::tuple{32, 8, 0}, std::tuple{1 << 30, 1 << 30, 2}}) {
            ModelDemand d = mixtral();
            d.n_layers = layers;
            d.n_experts = experts;
            d.n_active = active;
            QVERIFY_THROWS_EXCEPTION(Error, make_plan(d, {}, Popularity{}, PlacementKind::kPopular));
        }
    }

    void plan_ofAnyDemandAndBudget_keepsBudgetsAndUsesThem() {
        Random random{std::mt19937_64(11)};
        int made = 0;
        for (int round = 0; round < 20000; ++round) {
            const ModelDemand d = randomDemand(random);
            const Popularity p = randomPopularity(random, d);
            const auto all = static_cast<std::int64_t>(d.n_layers * d.n_experts);
            Budget budget;
            budget.vram_bytes =
                random.log(0.02 * static_cast<double>(whole(d)), 1.2 * static_cast<double>(whole(d)) + 1e4);
            budget.ram_bytes = random.log(0.02 * static_cast<double>(whole(d)),
                                          1.2 * static_cast<double>(whole(d) + d.host_fixed_bytes) + 1e4);
            budget.context = random.in(0, 1) == 0 ? 0 : random.in(1, 20000);
            const PlacementKind kind = random.in(0, 4) == 0 ? PlacementKind::kLayers : PlacementKind::kPopular;
            Plan plan;
            try {
                plan = make_plan(d, budget, p, kind);
            } catch (const Error& error) {
                QCOMPARE(error.kind(), ErrorKind::kOutOfMemory);
                // The message's advice is enough, for the memory that it names.
                const std::string message = error.what();
                const std::uint64_t missing = bytesMissing(message);
                QVERIFY2(missing > 0, message.c_str());
                const bool vram = message.find("of VRAM:") != std::string::npos;
                Budget more = budget;
                (vram ? more.vram_bytes : more.ram_bytes) += missing;
                const std::string again = failure(d, more);
                QVERIFY2(again.empty() || (again.find("of VRAM:") != std::string::npos) != vram, again.c_str());
                continue;
            }
            ++made;
            const std::int64_t device = plan.n_resident();
            const std::int64_t ram = count(plan, Place::kRam);
            const std::int64_t disk = count(plan, Place::kDisk);
            QCOMPARE(static_cast<std::int64_t>(plan.places.size()), all);
            QCOMPARE(plan.dense_bytes, d.dense_bytes);
            QCOMPARE(plan.kv_bytes, kv(d, plan.context) + (d.shares_host_memory ? plan.kept_bytes : 0));
            QCOMPARE(plan.workspace_bytes, workspace(d, plan.max_step));
            QCOMPARE(plan.expert_bytes, static_cast<std::uint64_t>(device) * d.expert_bytes);
            QCOMPARE(plan.staging_bytes, static_cast<std::uint64_t>(plan.staging_slots) * d.expert_bytes);
            const std::int64_t wish =
                budget.context > 0 ? budget.context : std::min<std::int64_t>(d.max_context, 32768);
            QVERIFY(plan.context <= wish && plan.context >= std::min<std::int64_t>(wish, 2048));
            if (budget.context > 0) QCOMPARE(plan.context, budget.context);
            QVERIFY(plan.max_step >= std::min<std::int64_t>(64, wish) && plan.max_step <= 4096);
            if (disk > 0) QVERIFY(plan.host_staging_slots >= d.n_active);
            // The memory does not hold the usual context: no expert takes what is left of
            // it.
            const bool isShort = budget.context == 0 && plan.context < std::min<std::int64_t>(wish, 16384);
            if (isShort) QVERIFY(device == 0 && (!d.shares_host_memory || ram == 0));

            if (d.shares_host_memory) {
                QCOMPARE(device, 0);
                QCOMPARE(plan.ram_bytes,
                         d.host_fixed_bytes + plan.vram_bytes() +
                             static_cast<std::uint64_t>(ram + plan.host_staging_slots) * d.expert_bytes);
                QVERIFY(plan.ram_bytes <= budget.ram_bytes);
                const bool reduced = plan.max_step < std::min<std::int64_t>(512, wish) || isShort;
                if (disk > 0) QVERIFY(reduced || plan.ram_bytes + unused(d, plan, wish) > budget.ram_bytes);
                continue;
            }
            QVERIFY(plan.vram_bytes() <= budget.vram_bytes);
            if (device < all) {
                // One more needs its own size - and if steps can still grow, the rest is
                // less than one token's.
                const std::uint64_t unit = kind == PlacementKind::kLayers
                                               ? d.expert_bytes * static_cast<std::uint64_t>(d.n_experts)
                                               : std::max(d.expert_bytes, d.workspace_bytes_per_token);
                const bool reduced = plan.max_step < std::min<std::int64_t>(512, wish) || isShort;
                QVERIFY(reduced || plan.vram_bytes() + unit > budget.vram_bytes);
                if (device > 0) QCOMPARE(plan.staging_slots, 2);
            } else {
                QCOMPARE(plan.staging_slots, 0);
            }
            QVERIFY(plan.ram_bytes <= budget.ram_bytes);
            const std::int64_t copies = plan.duplicates ? all : ram + plan.host_staging_slots;
            QCOMPARE(plan.ram_bytes,
                     d.host_fixed_bytes + plan.kept_bytes + static_cast<std::uint64_t>(copies) * d.expert_bytes);
            QCOMPARE(plan.kv_host_bytes, plan.kept_bytes);
            if (plan.duplicates) QCOMPARE(disk, 0);
            if (disk > 0) QVERIFY(!plan.duplicates && plan.ram_bytes + unused(d, plan, wish) > budget.ram_bytes);
        }
        qInfo("%d plans, the rest refused", made);
        QVERIFY(made > 5000);
    }

    // States and windows of other conversations take what experts leave of RAM, and
    // little where these are short.
    void otherConversations_haveRoomInRam_data() {
        QTest::addColumn<bool>("is_state");
        QTest::addColumn<bool>("on_host");
        for (const bool is_state : {true, false}) {
            for (const bool on_host : {true, false})
                QTest::addRow("%s, %s", is_state ? "states" : "windows", on_host ? "CPU" : "device")
                    << is_state << on_host;
        }
    }
    void otherConversations_haveRoomInRam() {
        QFETCH(bool, is_state);
        QFETCH(bool, on_host);
        ModelDemand d = mixtral();
        d.shares_host_memory = on_host;
        d.kv_groups.push_back({is_state ? 0 : 1024, {0, std::uint64_t{1} << 20, 0}, is_state});
        const std::uint64_t one = d.sequences_bytes(32768, 1);
        QCOMPARE(one, (is_state ? std::uint64_t{1} : std::uint64_t{18}) * 64 << 20);
        const auto plan_in = [&](std::uint64_t ram) {
            return make_plan(d, {24 * kGiB, ram, 32768}, fiddler(), PlacementKind::kPopular);
        };
        const auto n_kept = [&](const Plan& plan) {
            const std::vector<KvRoom> rooms = d.kv_rooms(plan);
            const KvGroupDemand& group = d.kv_groups.back();
            const std::int64_t others = group.n_blocks(plan.context) + group.n_other_blocks(plan.max_step);
            return (rooms.back().n_blocks() - others) / (is_state ? 1 : 17);
        };
        const Plan roomy = plan_in(400 * kGiB);
        QCOMPARE(n_kept(roomy), is_state ? kMostOtherSequences : 28);  // as many blocks as the context has
        QCOMPARE(roomy.kept_bytes, d.sequences_bytes(32768, kMostOtherSequences));
        QVERIFY(roomy.ram_bytes >= roomy.kept_bytes + 256 * d.expert_bytes);
        // A quarter of the rest: room for two and a half, and for a bit more where steps
        // are shorter on the CPU.
        const std::uint64_t full = roomy.ram_bytes - roomy.kept_bytes;
        const Plan some = plan_in(full + 10 * one);
        QVERIFY(n_kept(some) >= 2 && n_kept(some) <= (on_host ? 3 : 2));
        QVERIFY(some.ram_bytes <= full + static_cast<std::uint64_t>(n_kept(some)) * one);
        QVERIFY(n_kept(plan_in(full)) <= (on_host ? 1 : 0));
        // Experts on disk: a sixteenth of their room.
        const Plan tight = plan_in(on_host ? 40 * kGiB : 24 * kGiB);
        QVERIFY(count(tight, Place::kDisk) > 0);
        QVERIFY(n_kept(tight) > 0 && tight.kept_bytes < tight.ram_bytes / 12);
        ModelDemand without = d;
        without.kv_groups.pop_back();
        QCOMPARE(make_plan(without, {24 * kGiB, 400 * kGiB, 32768}, fiddler(), PlacementKind::kPopular).kept_bytes,
                 std::uint64_t{0});
    }

    void hitRate_withMoreMemory_neverFalls() {
        Random random{std::mt19937_64(12)};
        for (int round = 0; round < 1500; ++round) {
            const ModelDemand d = randomDemand(random);
            const Popularity p = randomPopularity(random, d);
            const PlacementKind kind = random.in(0, 4) == 0 ? PlacementKind::kLayers : PlacementKind::kPopular;
            Budget budget;
            budget.context = random.in(0, 1) == 0 ? 0 : random.in(1, 20000);
            std::vector<std::uint64_t> sizes;
            for (int i = 0; i < 40; ++i) {
                const std::uint64_t size = random.log(1000, 1.3 * static_cast<double>(whole(d)) + 1e4);
                sizes.push_back(size);
                sizes.push_back(size + 1);
                sizes.push_back(size + random.log(1, 1e6));
            }
            std::sort(sizes.begin(), sizes.end());
            double last = -1;
            for (const std::uint64_t size : sizes) {
                (d.shares_host_memory ? budget.ram_bytes : budget.vram_bytes) = size;
                try {
                    const Plan plan = make_plan(d, budget, p, kind);
                    QVERIFY2(plan.expected_hit_rate >= last - 1e-12,
                             qPrintable(QString("%1 after %2").arg(plan.expected_hit_rate).arg(last)));
                    last = plan.expected_hit_rate;
                } catch (const Error&) {
                    QVERIFY(last < 0);  // a plan that fitted fits in more
                }
            }
        }
    }

    void hitRate_ofPopularPlacement_isTheBestOfAnyChoice() {
        Random random{std::mt19937_64(13)};
        for (int round = 0; round < 300; ++round) {
            ModelDemand d = randomDemand(random);
            d.shares_host_memory = false;
            const Popularity p = randomPopularity(random, d);
            Plan plan;
            try {
                plan = make_plan(d, {random.log(1e4, static_cast<double>(whole(d))), 0, 0}, p, PlacementKind::kPopular);
            } catch (const Error&) {
                continue;
            }
            std::vector<std::uint8_t> other(plan.places.size(), 0);
            std::fill_n(other.begin(), plan.n_resident(), std::uint8_t{1});
            for (int choice = 0; choice < 20; ++choice) {
                std::shuffle(other.begin(), other.end(), random.engine);
                QVERIFY(expected_hit_rate(p, other) <= plan.expected_hit_rate + 1e-12);
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestPlanner)
#include "tst_planner.moc"
