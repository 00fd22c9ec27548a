#pragma once
// Numbers and names for display.

#include <span>

#include <QString>

#include "engine/formats.h"
#include "engine/run/session.h"
#include "ui/base/message.h"

namespace offstage::ui {

QString bytesText(quint64 bytes);                     // "1.3 GiB": as budgets are given
QString formatText(const engine::FormatRow& format);  // "4 bit (HQQ)", "16 bit (BF16)"
// The same for rows[id]; empty if there is no such row.
QString formatText(std::span<const engine::FormatRow> rows, std::size_t id);
QString secondsText(double seconds);  // "120 ms", "1.4 s"
// "12.5 %"; a share that is not finite is a dash.
QString percentText(double share);
QString countText(qint64 count);                          // "46.7 B", "12 M", "1,234"
QString hardwareText(const engine::ModelSummary& model);  // "CPU · 2 threads · AVX-512 bf16"
QString modelText(const engine::ModelSummary& model);     // "8 layers × 8 experts, 2 active"
// The origin of a speed. The three never look alike.
enum class SpeedKind {
    Measured,   // by a real device's clock
    Simulated,  // by an emulated device's, which works times out
    Forecast,
};
QString speedText(double tokensPerSecond, SpeedKind kind);      // "37.5 tokens/s (measured)"
QString tokenSpeedText(double tokensPerSecond, bool emulated);  // "37.5 tokens/s (measured)", "... (simulated)"
// For forecasts: "37.5", "1,234"; a dash if nothing is known.
QString rateText(double tokensPerSecond);
QString readingText(qint64 read, qint64 tokens);  // "Reading the prompt: 1,024 of 4,096 tokens"
QString firstTokenText(double seconds);           // small models read a prompt in less than a millisecond
// Which expert makes room for another: "Least recently used (LRU)".
QString policyText(engine::CacheKind policy);
// "neurons up to 0.1 skipped", "neurons skipped by expert, for a loss of 0.003"; empty:
// none.
QString thetaText(const engine::ThetaChoice& theta);
// {"first token 120 ms", "37.5 tokens/s (measured)", "34 in, 120 out"}; without a time and a
// speed that are not known.
QStringList figureParts(const AnswerFigures& figures);
// What drafted tokens gained, and cost; empty where there were none.
QString draftsText(qint64 drafted, qint64 accepted, double tokensPerStep, double moreExperts);
QString figuresText(const AnswerFigures& figures);  // joined: "first token 120 ms · 37.5 tokens/s (measured) · ..."
// "Thought for 12 s, 240 tokens"; during the thought "Thinking… 12 s, 240 tokens".
QString thoughtText(const Thought& thought, bool goesOn);
// The name of the folder or file; a "synthetic:" source unchanged.
QString modelNameOf(const QString& source);

}  // namespace offstage::ui
