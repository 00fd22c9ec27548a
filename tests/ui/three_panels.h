#pragma once
// The panels Experts, Cache and Dispatch on a scripted engine.

#include <QPushButton>
#include <QSignalSpy>

#include "tests/ui/pictures.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine/engine_controller.h"
#include "ui/panels/cache_panel.h"
#include "ui/panels/dispatch_panel.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/selection.h"

namespace offstage::test {

inline constexpr ui::MessageId kMessage = 42;

// The panels on the scripted engine, without the rest of the window.
struct ThreePanels {
    explicit ThreePanels(const Script& script) {
        stage->setScript(script);
        engine = std::make_unique<ui::EngineController>([s = stage] { return makeFakeSession(s); });
        log = std::make_unique<ui::TokenLog>(*engine);
        selection = std::make_unique<ui::Selection>(*log);
        experts = std::make_unique<ui::ExpertsPanel>(*engine);
        experts->setSelection(*selection);
        cache = std::make_unique<ui::CachePanel>(*engine, *selection);
        dispatch = std::make_unique<ui::DispatchPanel>(*engine, *selection);
        for (QWidget* panel : panels()) {
            panel->resize(360, 900);
            panel->show();
        }
        QObject::connect(engine.get(), &ui::EngineController::streamed, log.get(),
                         [this](quint64, const ui::StreamedText& piece) {
                             log->addTokens(kMessage, static_cast<int>(text.size()), piece);
                             text += piece.text;
                         });
    }

    std::vector<ui::Panel*> panels() const { return {experts.get(), cache.get(), dispatch.get()}; }

    void load() {
        engine->openModel({});
        QTRY_COMPARE(engine->state(), ui::EngineController::State::Ready);
    }
    void answerUnseen() {  // the panels need not have looked yet
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "tell me"}};
        QSignalSpy answered(engine.get(), &ui::EngineController::answered);
        engine->generate(request);
        QTRY_COMPARE(answered.size(), 1);
        QTRY_COMPARE(engine->state(), ui::EngineController::State::Ready);
    }
    void answer() {
        answerUnseen();
        for (ui::Panel* panel : panels()) {
            QTRY_COMPARE(panel->snapshot().revision, engine->snapshot()->revision);
        }
    }

    std::shared_ptr<Stage> stage = std::make_shared<Stage>();
    QString text;
    std::unique_ptr<ui::EngineController> engine;
    std::unique_ptr<ui::TokenLog> log;
    std::unique_ptr<ui::Selection> selection;
    std::unique_ptr<ui::ExpertsPanel> experts;
    std::unique_ptr<ui::CachePanel> cache;
    std::unique_ptr<ui::DispatchPanel> dispatch;
};

// Its text changes while policies are compared.
inline QPushButton& compareButton(const ui::CachePanel& panel) {
    const auto named = [&](const char* text) {
        for (QPushButton* each : panel.findChildren<QPushButton*>()) {
            if (each->text() == QString::fromLatin1(text)) {
                return each;
            }
        }
        return static_cast<QPushButton*>(nullptr);
    };
    QPushButton* const waiting = named("Compare policies");
    return waiting != nullptr ? *waiting : *named("Cancel");
}

inline Script onDevice() {
    Script script;
    script.residents = 20;
    script.emulated = true;
    script.answer = longAnswer(120);
    return script;
}

inline Script onCpu() {
    Script script;
    script.answer = longAnswer(60);
    return script;
}

}  // namespace offstage::test
