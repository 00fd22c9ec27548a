// Forecasts over hardware: more VRAM holds more experts, what fits not says so, profiles survive being written.

#include <QtTest>

#include "engine/error.h"
#include "engine/eval/what_if.h"
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
        const std::vector<WhatIfRow> rows = m_model->curve(profile, 16, {});
        QCOMPARE(rows.size(), std::size_t{16});
        QVERIFY(!rows.front().failure.empty());  // not even the KV cache has room
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
        QVERIFY(m_model->curve(find_hardware_profile("t4"), 16, stop.get_token()).empty());
        LoadRequest request;
        request.model = demoModel();
        QVERIFY_EXCEPTION_THROWN(WhatIf(request, LoadProgressFn{}, stop.get_token()), Error);
    }
};

QTEST_GUILESS_MAIN(TestWhatIf)
#include "tst_what_if.moc"
