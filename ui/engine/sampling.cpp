#include "ui/engine/sampling.h"

#include <utility>

#include <QCoreApplication>

#include "engine/run/session.h"
#include "ui/base/settings.h"

namespace offstage::ui {

namespace {

struct SamplingText {
    Q_DECLARE_TR_FUNCTIONS(Sampling)
};

template <typename T>
T bounded(const Setting<T>& setting, T fallback, T low, T high) {
    bool ok = false;
    const double value = setting.raw().toDouble(&ok);
    return ok && value >= static_cast<double>(low) && value <= static_cast<double>(high) ? static_cast<T>(value)
                                                                                         : fallback;
}

// The settings of numbers with their ranges.
void eachBounded(auto& s, const auto& act) {
    act(settings::kTemperature, s.sampler.temperature, 0.0f, 2.0f);
    act(settings::kTopK, s.sampler.top_k, 0, 1000);
    act(settings::kTopP, s.sampler.top_p, 0.0f, 1.0f);
    act(settings::kMinP, s.sampler.min_p, 0.0f, 1.0f);
    act(settings::kRepeatPenalty, s.sampler.repeat_penalty, 1.0f, 2.0f);
    act(settings::kRepeatWindow, s.sampler.repeat_window, 0, 4096);
    act(settings::kMaxTokens, s.maxTokens, 0, 1'000'000);
    act(settings::kBeamWidth, s.beamWidth, 1, engine::kLargestBeamWidth);
}

}  // namespace

Sampling defaultSampling() {
    return {};
}

QString thinkingText(const QString& choice) {
    if (choice.isEmpty()) {
        return SamplingText::tr("As the model does");
    }
    const std::pair<const char*, QString> known[] = {{"off", SamplingText::tr("Off")},
                                                     {"on", SamplingText::tr("On")},
                                                     {"low", SamplingText::tr("Low")},
                                                     {"medium", SamplingText::tr("Medium")},
                                                     {"high", SamplingText::tr("High")}};
    for (const auto& [name, text] : known) {
        if (choice == QLatin1String(name)) {
            return text;
        }
    }
    return choice;
}

QList<SamplingPreset> samplingPresets() {
    Sampling precise;
    precise.sampler.temperature = 0.0f;
    precise.sampler.top_k = 0;
    precise.sampler.top_p = 1.0f;
    Sampling creative;
    creative.sampler.temperature = 1.0f;
    creative.sampler.top_k = 0;
    creative.sampler.top_p = 1.0f;
    creative.sampler.min_p = 0.05f;
    return {
        {SamplingText::tr("Precise"), SamplingText::tr("Always the most probable word: the same answer every time"),
         precise},
        {SamplingText::tr("Balanced"), SamplingText::tr("A little variety, few surprises"), defaultSampling()},
        {SamplingText::tr("Creative"), SamplingText::tr("More variety; very improbable words stay out"), creative},
    };
}

Sampling readSampling() {
    Sampling s = defaultSampling();
    eachBounded(
        s, [](const auto& setting, auto& value, auto low, auto high) { value = bounded(setting, value, low, high); });
    s.sampler.seed = settings::kSeed.value();
    s.thinking = settings::kThinking.value().left(64);
    return s;
}

void writeSampling(const Sampling& s) {
    QSettings open;
    eachBounded(s, [&open](const auto& setting, const auto& value, auto, auto) { setting.set(open, value); });
    settings::kSeed.set(open, s.sampler.seed);
    settings::kThinking.set(open, s.thinking);
}

}  // namespace offstage::ui
