// Plans that are made beside the steps: from a value, on a separate thread, in order.

#include <atomic>
#include <chrono>
#include <thread>

#include <QTemporaryDir>
#include <QtTest>

#include "engine/error.h"
#include "engine/run/local_session.h"
#include "engine/run/replan_queue.h"
#include "tests/engine/replan_play.h"

using namespace offstage;
using namespace offstage::engine;
using namespace offstage::test;

namespace {

// 3,840 experts with shapes only: planning such a model takes tens of milliseconds.
LoadRequest largeModel(const QTemporaryDir& cache) {
    LoadRequest request;
    request.model = "synthetic:fine?layers=60";
    request.dry = true;
    request.device = "emulated:rtx-3060-desktop";
    request.vram_bytes = std::uint64_t{4} << 30;
    request.context = 2048;
    request.cache_directory = cache.path().toStdString();
    request.times_product = [](offstage::kernels::TrialProduct) { return 100.0; };  // nothing is measured
    return request;
}

ReplanRequest vram(std::uint64_t mib) {
    ReplanRequest request;
    request.vram_bytes = mib << 20;
    return request;
}

// The demo model, of which a GPU's 16 MiB hold a part.
LoadRequest smallLoad() {
    LoadRequest load;
    load.model = demoModel();
    load.context = 1024;
    load.device = "emulated:rtx-3060";
    load.vram_bytes = 16u << 20;
    load.n_threads = 1;
    return load;
}

}  // namespace

class TestPlanning : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void draft_isAValue_thatPlansAsTheModelDoes() {
        QTemporaryDir cache;
        Play play(largeModel(cache));
        const auto microseconds = [](auto&& body) {
            const auto begin = std::chrono::steady_clock::now();
            body();
            return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
        };
        const std::size_t pinned = 700;
        play.replanner.change(1, ExpertChange::Kind::kPin, {&pinned, 1}, {}, 0);
        play.replanner.finish({});
        PlanInputs draft;
        std::vector<double> taking, planning;
        Plan target;
        ReplanRequest request = vram(3000);
        request.quality = QualityFloor{.min_mean_bits = 5};
        for (int i = 0; i < 5; ++i) {
            taking.push_back(microseconds([&] { draft = play.replanner.inputs(); }));
            planning.push_back(microseconds([&] { target = replanned(draft, request); }));
        }
        std::sort(taking.begin(), taking.end());
        std::sort(planning.begin(), planning.end());
        qInfo("3,840 experts: the draft takes %.0f us, the plan %.0f us", taking[2], planning[2]);

        const ReplanPreview before = preview_of(play.replanner.inputs(), request);
        // The model continues; the draft belongs to the moment when it was made.
        begin_replan(play.replanner, 2, vram(1500), 0);
        play.replanner.finish({});
        QVERIFY(play.replanner.reports().back().state == ReplanState::kDone);
        ReplanPreview elsewhere;
        std::thread([&] { elsewhere = preview_of(draft, request); }).join();
        QVERIFY(elsewhere.plan.places == before.plan.places && elsewhere.plan.formats == before.plan.formats);
        QCOMPARE(elsewhere.bytes_to_move, before.bytes_to_move);
        QCOMPARE(elsewhere.before.decode_tokens_per_s, before.before.decode_tokens_per_s);
        QVERIFY(target.places == before.plan.places);
        QVERIFY(target.places[700] == Place::kDevice);  // pinned
        QVERIFY(preview_of(play.replanner.inputs(), request).before.decode_tokens_per_s !=
                before.before.decode_tokens_per_s);
    }

    void plans_areMadeThere_andFinishedHereInOrder() {
        QTemporaryDir cache;
        Play play(largeModel(cache));
        PlanningThread planning;
        QVERIFY(!planning.busy() && !planning.finish_next());
        planning.wait({});  // nothing to wait for
        const std::thread::id here = std::this_thread::get_id();
        const PlanInputs draft = play.replanner.inputs();
        std::vector<Plan> made;
        for (const std::uint64_t mib : {3000, 2000, 2500}) {
            planning.start([&, mib] {
                const bool elsewhere = std::this_thread::get_id() != here;
                return [&, elsewhere, plan = replanned(draft, vram(mib))] {
                    QVERIFY(elsewhere && std::this_thread::get_id() == here);
                    made.push_back(plan);
                };
            });
        }
        while (planning.busy()) {
            planning.wait({});
            QVERIFY(planning.finish_next());
        }
        QCOMPARE(made.size(), std::size_t{3});
        QVERIFY(made[0].places == replanned(draft, vram(3000)).places && made[0].places != made[1].places);
        QVERIFY(made[1].places == replanned(draft, vram(2000)).places && made[2].places != made[1].places);
    }

    void session_whatCannotBePlanned_isRefusedWithASentence() {
        LocalSession session;
        session.load(smallLoad(), {}, {});
        std::string told;
        const auto tell = [&](const std::optional<ReplanPreview>& preview, const Message& problem) {
            told = preview ? "preview" : problem.english();
        };
        session.replan(vram(1));
        session.request_preview(vram(1 << 20), tell);
        session.advance({});
        QVERIFY(session.replans().back().state == ReplanState::kFailed);
        QVERIFY(session.replans().back().problem.english().find("VRAM") != std::string::npos);
        QVERIFY2(told.find("to give; lower it") != std::string::npos, told.c_str());
        session.request_preview(vram(24), tell);
        session.advance({});
        QCOMPARE(told, std::string("preview"));
    }

    void wait_endsWithAStop_andTheThreadWithItsOwner() {
        QTemporaryDir cache;
        Play play(largeModel(cache));
        ReplanRequest request = vram(3000);
        request.quality = QualityFloor{.min_mean_bits = 5};
        const PlanInputs draft = play.replanner.inputs();
        for (int i = 0; i < 20; ++i) {
            PlanningThread planning;
            for (int n = 0; n < 10; ++n) {
                planning.start([&] {
                    static_cast<void>(replanned(draft, request));
                    return [] {};
                });
            }
            std::stop_source stop;
            stop.request_stop();
            planning.wait(stop.get_token());
            QVERIFY(planning.busy());
        }
    }

    // Steps continue while a plan is made; requests after a re-plan wait for it, and come
    // in the same order.
    void session_ordersKeepTheirOrder() {
        LocalSession session;
        session.load(smallLoad(), {}, {});
        // With room for all, only an evicted expert is missing.
        const std::uint64_t first = session.replan(vram(64));
        const std::uint64_t second = session.change_experts({ExpertChange::Kind::kEvict, {{2, 3}}});
        int previews = 0;
        session.request_preview(vram(24), [&](const auto& preview, const Message&) {
            QVERIFY(preview.has_value());
            ++previews;
        });
        GenerationRequest request;
        request.messages = {{Role::kUser, "Tell me about a fox."}};
        request.max_tokens = 300;
        request.sampler.temperature = 0;
        const GenerationResult disturbed = session.generate(request, {}, {});
        session.advance({});
        QCOMPARE(previews, 1);
        const std::vector<ReplanReport> reports = session.replans();
        QCOMPARE(reports.size(), std::size_t{2});
        QCOMPARE(reports[0].id, first);
        QCOMPARE(reports[1].id, second);
        QVERIFY(reports[1].state == ReplanState::kDone);
        const Snapshot snapshot = session.snapshot();
        QCOMPARE(std::count(snapshot.experts.place.begin(), snapshot.experts.place.end(), std::uint8_t{0}), 63);
        // Plans are dropped together with the model.
        session.replan(vram(32));
        session.request_preview(vram(24), [&](const auto&, const Message&) { ++previews; });
        session.advance(std::stop_token());
        session.request_preview(vram(24), [&](const auto&, const Message&) { ++previews; });
        session.unload();
        QCOMPARE(previews, 2);
        session.load(smallLoad(), {}, {});
        session.reset_conversation();
        QCOMPARE(session.generate(request, {}, {}).text, disturbed.text);
        session.advance({});
        QCOMPARE(previews, 2);
        QVERIFY(session.replans().empty());
    }
};

QTEST_GUILESS_MAIN(TestPlanning)
#include "tst_planning.moc"
