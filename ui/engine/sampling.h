#pragma once
// The user's choice of sampling: the engine's settings, the presets, and their storage.

#include <QList>
#include <QString>

#include "engine/run/sampler_settings.h"

namespace offstage::ui {

struct Sampling {
    engine::SamplerSettings sampler;
    int maxTokens = 0;  // 0: until the end of the turn or of the context
    int beamWidth = 1;  // above 1: beam search instead of sampling; 1 .. engine::kLargestBeamWidth
    // One of engine::ModelSummary::thinking_choices; empty, or not offered by the model:
    // the template's default.
    QString thinking = {};

    bool operator==(const Sampling&) const = default;
};

struct SamplingPreset {
    QString name;
    QString explanation;
    Sampling sampling;
};

// Precise, Balanced (the default), Creative.
QList<SamplingPreset> samplingPresets();
Sampling defaultSampling();

// A choice of thinking for display: "off" is "Off", none is "As the model does".
QString thinkingText(const QString& choice);

// Values out of range, e.g. from an edited file, become the default's.
Sampling readSampling();
void writeSampling(const Sampling& sampling);

}  // namespace offstage::ui
