// Forecasts over hardware: more VRAM holds more experts, machines share them, a plan that
// does not fit is reported, profiles survive being written.

#include <QTemporaryDir>
#include <QtTest>

#include "engine/cluster/what_if.h"
#include "engine/error.h"
#include "tests/engine/test_models.h"

using namespace offstage::engine;
using namespace offstage::test;

class TestWhatIf : public QObject {
    Q_OBJECT

    std::unique_ptr<WhatIf> m_model;

  private Q_SLOTS:
    void initTestCase() {
        LoadRequest request;
        request.model = demoModel();
        request.context = 512;
        request.n_threads = 1;
        m_model = std::make_unique<WhatIf>(request, LoadProgressFn{}, std::stop_token{});
    }

    void moreVram_holdsMoreExperts() {
        const HardwareProfile profile = find_hardware_profile("rtx-3060-desktop");
        const std::vector<WhatIfRow> rows = m_model->curve(profile, 16, {}, {});
        QCOMPARE(rows.size(), std::size_t{16});
        QVERIFY(rows.front().lacks_memory && !rows.front().failure.empty());  // not even the KV cache has room
        QVERIFY(rows.back().failure.empty());
        QCOMPARE(rows.back().resident, rows.back().total);
        QCOMPARE(rows.back().hit_rate, 1.0);
        std::int64_t resident = 0;
        for (const WhatIfRow& row : rows) {
            if (!row.failure.empty()) continue;
            QVERIFY(row.resident >= resident);
            QVERIFY(row.tokens_per_s > 0 && row.ttft_s > 0);
            resident = row.resident;
        }
        QVERIFY(rows.back().tokens_per_s > 0);
    }

    void fasterMemory_isFaster() {
        HardwareProfile profile = find_hardware_profile("t4");
        const WhatIfRow slow = m_model->on(profile);
        profile.memory_gbps *= 4;
        profile.launch_us /= 4;
        profile.sync_us /= 4;
        const WhatIfRow fast = m_model->on(profile);
        QVERIFY(fast.tokens_per_s > slow.tokens_per_s);
        QVERIFY(!fast.own_host);
        QVERIFY(m_model->on(find_hardware_profile("fiddler-env1")).own_host);
    }

    void sameQuestion_hasTheSameAnswer() {
        const HardwareProfile profile = find_hardware_profile("t4");
        const WhatIfRow a = m_model->on(profile, 16u << 20);
        const WhatIfRow b = m_model->on(profile, 16u << 20);
        QCOMPARE(a.tokens_per_s, b.tokens_per_s);
        QCOMPARE(a.vram_bytes, std::uint64_t{16u << 20});
    }

    void overhead_isInEveryForecast() {
        const HardwareProfile profile = find_hardware_profile("rtx-3060-desktop");
        const WhatIfRow bare = m_model->on(profile, 16u << 20);
        m_model->set_overhead_us(450);
        const WhatIfRow row = m_model->on(profile, 16u << 20);
        const std::vector<WhatIfRow> curve = m_model->curve(profile, 2, {}, {});
        m_model->set_overhead_us(0);
        QVERIFY(std::abs(1e6 / row.tokens_per_s - 1e6 / bare.tokens_per_s - 450) < 0.01);
        QVERIFY(row.ttft_s >= bare.ttft_s + 449e-6);
        QCOMPARE(row.hit_rate, bare.hit_rate);
        QVERIFY(curve.back().tokens_per_s < 1e6 / 450);
    }

    void oneMachine_knowsNoNetwork() {
        const HardwareProfile profile = find_hardware_profile("rtx-3060-desktop");
        const WhatIfRow alone = m_model->on(profile, 16u << 20);
        for (const Network& network : network_presets()) {
            const WhatIfRow row = m_model->on(profile, 16u << 20, {1, network});
            QCOMPARE(row.tokens_per_s, alone.tokens_per_s);
            QCOMPARE(row.ttft_s, alone.ttft_s);
            QCOMPARE(row.network_share, 0.0);
        }
        QCOMPARE(alone.busiest_experts, 2.0);  // of two active ones
    }

    // The demo model has 8 experts in a layer: with more than 8 machines some have none.
    void machines_shareExpertsAndPayForTheNetwork() {
        const HardwareProfile profile = find_hardware_profile("rtx-3060-desktop");
        const std::vector<WhatIfRow> rows = m_model->machines(profile, find_network("10gbe"), 9, {});
        QCOMPARE(rows.size(), std::size_t{9});
        QCOMPARE(rows.front().tokens_per_s, m_model->on(profile).tokens_per_s);
        QCOMPARE(rows.front().ttft_s, m_model->on(profile).ttft_s);
        for (std::size_t i = 0; i < 8; ++i) {
            QCOMPARE(rows[i].n_machines, static_cast<std::int64_t>(i) + 1);
            QVERIFY2(rows[i].failure.empty(), rows[i].failure.english().c_str());
            QCOMPARE(rows[i].resident, rows[i].total);
            if (i == 0) continue;
            QVERIFY(rows[i].busiest_experts < 2 && rows[i].busiest_experts >= 1);
            // 8 layers, a millisecond each: in such a small model almost all time is
            // waiting.
            QVERIFY(rows[i].network_share > 0.5 && rows[i].network_share < 1);
            QVERIFY(rows[i].tokens_per_s < 125);
        }
        QVERIFY(rows[8].failure.english().find("9 machines") != std::string::npos);
        QVERIFY(rows[8].failure.english().find("1 to 8") != std::string::npos);
        QVERIFY(!rows[8].lacks_memory);
        QCOMPARE(rows[8].tokens_per_s, 0.0);
    }

    // Two machines have room for twice the experts of one.
    void machines_needLessVramEach() {
        const HardwareProfile profile = find_hardware_profile("rtx-3060-desktop");
        const Cluster two{2, find_network("infiniband")};
        const std::uint64_t enough = m_model->enough_vram_bytes(2);
        QVERIFY(enough < m_model->enough_vram_bytes());
        const WhatIfRow apart = m_model->on(profile, enough, two);
        QCOMPARE(apart.resident, apart.total);
        const WhatIfRow alone = m_model->on(profile, enough);
        QVERIFY(alone.resident < alone.total);
        QVERIFY(apart.hit_rate > alone.hit_rate);
        const std::vector<WhatIfRow> curve = m_model->curve(profile, 5, two, {});
        QCOMPARE(curve.back().vram_bytes, enough);
        QCOMPARE(curve.back().tokens_per_s, apart.tokens_per_s);
        QCOMPARE(curve.back().n_machines, std::int64_t{2});
    }

    void profiles_surviveBeingWritten() {
        for (const std::string& id : hardware_profile_ids()) {
            const HardwareProfile profile = find_hardware_profile(id);
            const std::string text = to_json(profile);
            const HardwareProfile read = parse_hardware_profile(text, id + ".json");
            QCOMPARE(to_json(read), text);
            QCOMPARE(read.memory_bytes, profile.memory_bytes);
            QCOMPARE(read.host.has_value(), profile.host.has_value());
        }
    }

    void stopRequest_endsIt() {
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(m_model->curve(find_hardware_profile("t4"), 16, {}, stop.get_token()).empty());
        QVERIFY(m_model->machines(find_hardware_profile("t4"), find_network("10gbe"), 4, stop.get_token()).empty());
        const QTemporaryDir cache;  // nothing is measured yet
        LoadRequest request;
        request.model = demoModel();
        request.cache_directory = cache.path().toStdString();
        QVERIFY_EXCEPTION_THROWN(WhatIf(request, LoadProgressFn{}, stop.get_token()), Error);
    }
};

QTEST_GUILESS_MAIN(TestWhatIf)
#include "tst_what_if.moc"
