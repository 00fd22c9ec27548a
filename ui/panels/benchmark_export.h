#pragma once

#include <optional>
#include <vector>

#include <QDateTime>
#include <QList>
#include <QString>

#include "ui/panels/budget_form.h"

namespace offstage::ui {

// The figures of one answer, and its plan.
struct BenchmarkRun {
    QString label;  // a session's answer: the beginning of its text; a scenario: "512 in, 32 out"
    QDateTime time;
    qint64 tokensIn = 0;      // of the prompt
    qint64 tokensReused = 0;  // of these, found in the KV cache
    qint64 tokensOut = 0;
    double ttftSeconds = 0;
    double tokensPerSecond = 0;  // 0: not measured, there was one token
    // A scenario's answer has fewer tokens than requested: its speed does not represent
    // the scenario, and is not shown.
    bool endedEarly = false;
    std::vector<double> itlSeconds;  // each decode step of the engine, by the device's clock
    double hitRate = 0;
    quint64 bytesCopied = 0;
    double meanBits = 0;
    QString policy;
    QString finish;
    quint64 seed = 0;
    QString text;    // of the answer, if runs are compared
    QString device;  // engine::ModelSummary::device
    BudgetSetting setting;
    qint64 residentExperts = -1;  // -1: not known
    double predictedLoss = -1;    // -1: not known

    double itl(double share) const;  // quantile; 0 where there are no steps
    bool hasSpeed() const { return !endedEarly && tokensPerSecond > 0; }
};

// Two plans on one prompt with one seed.
struct BenchmarkComparison {
    QString prompt;
    BenchmarkRun a, b;
};

// The contents of an export.
struct BenchmarkReport {
    QString programVersion;
    QDateTime created;
    engine::ModelSummary model;
    QString fingerprint;  // empty: not known
    BudgetSetting setting;
    double meanBits = 0;
    QString cpu;
    int cores = 0;
    quint64 ramBytes = 0;
    std::vector<BenchmarkRun> answers, scenarios;
    std::vector<BenchmarkComparison> comparisons;
};

// Fills in the computer; the rest is the caller's.
BenchmarkReport beginReport();

// UTF-8, one line per run, headings in the first; RFC 4180. Times in seconds.
QByteArray benchmarkCsv(const BenchmarkReport& report);

// Schema "offstage.benchmark", version 1. Times in seconds, sizes in bytes, shares 0..1;
// unknown values are null; readers ignore unknown keys.
//   format "offstage.benchmark", version 1, created (ISO 8601), program {name, version}
//   hardware {cpu, cores, threads, instruction_set, ram_bytes, device, device_name,
//   emulated, emulated_host}
//   timing "device clock" | "accounted" (emulated device: computed from a hardware
//   profile, no measurement)
//   model {name, source, fingerprint, architecture, n_layers, n_experts, n_active,
//   hidden_dim, ffn_dim, vocab_size,
//          weight_type, total_weights, active_weights}
//   plan {policy, resident_experts, ram_experts, total_experts, mean_bits, popularity}
//   budgets {vram_bytes, ram_bytes, context, min_mean_bits, max_loss, max_kl, theta,
//   theta_loss,
//            accepts_guesses, experts}
//   answers, scenarios: [run]; comparisons: [{prompt, a: run, b: run}]
//   run {label, time, tokens_in, tokens_reused, tokens_out, ttft_s, tokens_per_s,
//   itl_p50_s, itl_p95_s, itl_p99_s,
//        itl_s: [...], ended_early, hit_rate, bytes_copied, mean_bits, policy, finish,
//        seed, device, budgets, text (comparisons
//        only)}
QByteArray benchmarkJson(const BenchmarkReport& report);

// Tables under headings, for readers.
QByteArray benchmarkMarkdown(const BenchmarkReport& report);

// The format follows the name's ending: .csv, .json, .md. Writes the whole file or
// nothing; false, with a sentence in `why`.
bool saveBenchmark(const BenchmarkReport& report, const QString& path, QString* why = nullptr);

}  // namespace offstage::ui
