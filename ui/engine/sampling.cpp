#include "ui/engine/sampling.h"

#include <utility>

#include <QCoreApplication>
#include <QSettings>

#include "engine/run/session.h"

namespace offstage::ui {

namespace {

struct SamplingText {
    Q_DECLARE_TR_FUNCTIONS(Sampling)
};

template <typename T>
T bounded(const QVariant& stored, T fallback, T low, T high) {
    bool ok = false;
    const double value = stored.toDouble(&ok);
    return ok && value >= static_cast<double>(low) && value <= static_cast<double>(high) ? static_cast<T>(value)
                                                                                         : fallback;
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

Sampling readSampling(QSettings& settings) {
    const Sampling fallback = defaultSampling();
    Sampling s;
    settings.beginGroup(QStringLiteral("sampling"));
    s.sampler.temperature =
        bounded(settings.value(QStringLiteral("temperature")), fallback.sampler.temperature, 0.0f, 2.0f);
    s.sampler.top_k = bounded(settings.value(QStringLiteral("topK")), fallback.sampler.top_k, 0, 1000);
    s.sampler.top_p = bounded(settings.value(QStringLiteral("topP")), fallback.sampler.top_p, 0.0f, 1.0f);
    s.sampler.min_p = bounded(settings.value(QStringLiteral("minP")), fallback.sampler.min_p, 0.0f, 1.0f);
    s.sampler.repeat_penalty =
        bounded(settings.value(QStringLiteral("repeatPenalty")), fallback.sampler.repeat_penalty, 1.0f, 2.0f);
    s.sampler.repeat_window =
        bounded(settings.value(QStringLiteral("repeatWindow")), fallback.sampler.repeat_window, 0, 4096);
    s.sampler.seed = settings.value(QStringLiteral("seed"), 0).toULongLong();
    s.maxTokens = bounded(settings.value(QStringLiteral("maxTokens")), fallback.maxTokens, 0, 1'000'000);
    s.beamWidth =
        bounded(settings.value(QStringLiteral("beamWidth")), fallback.beamWidth, 1, engine::kLargestBeamWidth);
    s.thinking = settings.value(QStringLiteral("thinking")).toString().left(64);
    settings.endGroup();
    return s;
}

void writeSampling(QSettings& settings, const Sampling& s) {
    settings.beginGroup(QStringLiteral("sampling"));
    settings.setValue(QStringLiteral("temperature"), static_cast<double>(s.sampler.temperature));
    settings.setValue(QStringLiteral("topK"), s.sampler.top_k);
    settings.setValue(QStringLiteral("topP"), static_cast<double>(s.sampler.top_p));
    settings.setValue(QStringLiteral("minP"), static_cast<double>(s.sampler.min_p));
    settings.setValue(QStringLiteral("repeatPenalty"), static_cast<double>(s.sampler.repeat_penalty));
    settings.setValue(QStringLiteral("repeatWindow"), s.sampler.repeat_window);
    settings.setValue(QStringLiteral("seed"), static_cast<qulonglong>(s.sampler.seed));
    settings.setValue(QStringLiteral("maxTokens"), s.maxTokens);
    settings.setValue(QStringLiteral("beamWidth"), s.beamWidth);
    settings.setValue(QStringLiteral("thinking"), s.thinking);
    settings.endGroup();
}

}  // namespace offstage::ui
