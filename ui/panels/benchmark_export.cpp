#include "ui/panels/benchmark_export.h"

#include <cmath>

#include <QCoreApplication>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

#include "engine/device/hardware.h"
#include "engine/statistics.h"
#include "ui/base/save_file.h"
#include "ui/engine/format.h"
#include "ui/plot/csv.h"

namespace offstage::ui {

namespace {

struct Export {
    Q_DECLARE_TR_FUNCTIONS(BenchmarkExport)
};

QString numberText(double value, int decimals) {
    return QString::number(value, 'f', decimals);
}

// A cell of a Markdown table: nothing in it may end it.
QString cell(QString text) {
    return text.replace(u'|', QStringLiteral("\\|")).replace(u'\n', u' ');
}

QJsonValue known(double value) {
    return value < 0 || !std::isfinite(value) ? QJsonValue() : QJsonValue(value);
}

QJsonObject budgetsJson(const BudgetSetting& setting) {
    QJsonObject object;
    object[QStringLiteral("vram_bytes")] = static_cast<qint64>(setting.vramBytes);
    object[QStringLiteral("ram_bytes")] = static_cast<qint64>(setting.ramBytes);
    object[QStringLiteral("context")] = setting.context;
    object[QStringLiteral("min_mean_bits")] =
        setting.quality.min_mean_bits > 0 ? QJsonValue(setting.quality.min_mean_bits) : QJsonValue();
    object[QStringLiteral("max_loss")] =
        setting.quality.max_loss > 0 ? QJsonValue(setting.quality.max_loss) : QJsonValue();
    object[QStringLiteral("max_kl")] = setting.quality.max_kl > 0 ? QJsonValue(setting.quality.max_kl) : QJsonValue();
    object[QStringLiteral("theta")] = setting.theta.theta > 0 ? QJsonValue(setting.theta.theta) : QJsonValue();
    object[QStringLiteral("theta_loss")] = setting.theta.loss > 0 ? QJsonValue(setting.theta.loss) : QJsonValue();
    object[QStringLiteral("accepts_guesses")] = setting.theta.accepts_guesses();
    object[QStringLiteral("experts")] =
        setting.experts ? QJsonValue(QString::fromStdString(std::string(engine::format_row(*setting.experts).name)))
                        : QJsonValue();
    return object;
}

QJsonObject runJson(const BenchmarkRun& run, bool withText) {
    QJsonArray steps;
    for (const double s : run.itlSeconds) {
        steps.append(s);
    }
    QJsonObject object{
        {QStringLiteral("label"), run.label},
        {QStringLiteral("time"), run.time.toString(Qt::ISODateWithMs)},
        {QStringLiteral("tokens_in"), run.tokensIn},
        {QStringLiteral("tokens_reused"), run.tokensReused},
        {QStringLiteral("tokens_out"), run.tokensOut},
        {QStringLiteral("ttft_s"), run.ttftSeconds},
        {QStringLiteral("tokens_per_s"), run.hasSpeed() ? QJsonValue(run.tokensPerSecond) : QJsonValue()},
        {QStringLiteral("ended_early"), run.endedEarly},
        {QStringLiteral("itl_p50_s"), run.itl(0.5)},
        {QStringLiteral("itl_p95_s"), run.itl(0.95)},
        {QStringLiteral("itl_p99_s"), run.itl(0.99)},
        {QStringLiteral("itl_s"), steps},
        {QStringLiteral("hit_rate"), run.hitRate},
        {QStringLiteral("bytes_copied"), static_cast<qint64>(run.bytesCopied)},
        {QStringLiteral("mean_bits"), run.meanBits},
        {QStringLiteral("predicted_loss"), known(run.predictedLoss)},
        {QStringLiteral("resident_experts"), run.residentExperts < 0 ? QJsonValue() : QJsonValue(run.residentExperts)},
        {QStringLiteral("policy"), run.policy},
        {QStringLiteral("finish"), run.finish},
        // A seed uses all 64 bits; a JSON number does not.
        {QStringLiteral("seed"), QString::number(run.seed)},
        {QStringLiteral("device"), run.device},
        {QStringLiteral("budgets"), budgetsJson(run.setting)}};
    if (withText) {
        object[QStringLiteral("text")] = run.text;
    }
    return object;
}

QJsonArray runsJson(const std::vector<BenchmarkRun>& runs) {
    QJsonArray array;
    for (const BenchmarkRun& run : runs) {
        array.append(runJson(run, false));
    }
    return array;
}

QString runLine(const QString& kind, const BenchmarkReport& report, const BenchmarkRun& run) {
    return csvLine({
        kind,
        run.label,
        run.time.toString(Qt::ISODateWithMs),
        QString::number(run.tokensIn),
        QString::number(run.tokensReused),
        QString::number(run.tokensOut),
        numberText(run.ttftSeconds, 6),
        run.hasSpeed() ? numberText(run.tokensPerSecond, 3) : QString(),
        numberText(run.itl(0.5), 6),
        numberText(run.itl(0.95), 6),
        numberText(run.itl(0.99), 6),
        numberText(run.hitRate, 4),
        QString::number(run.bytesCopied),
        numberText(run.meanBits, 3),
        run.policy,
        run.finish,
        QString::number(run.seed),
        QString::number(run.setting.vramBytes),
        QString::number(run.setting.ramBytes),
        QString::number(run.setting.context),
        QString::fromStdString(report.model.name),
        report.fingerprint,
        run.device,
        run.device.startsWith(QLatin1String("emulated:")) ? QStringLiteral("1") : QStringLiteral("0"),
        report.programVersion,
    });
}

QString tableHead() {
    return QStringLiteral("| ") + Export::tr("run") + QStringLiteral(" | ") + Export::tr("in") + QStringLiteral(" | ") +
           Export::tr("out") + QStringLiteral(" | ") + Export::tr("TTFT ms") + QStringLiteral(" | ") +
           Export::tr("tokens/s") + QStringLiteral(" | ITL p50 ms | p95 | p99 | ") + Export::tr("hit rate") +
           QStringLiteral(" | ") + Export::tr("copied") + QStringLiteral(" | bits | ") + Export::tr("device") +
           QStringLiteral(" |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
}

QString tableLine(const BenchmarkRun& run, const QString& label) {
    const auto ms = [](double s) { return numberText(1000 * s, 2); };
    return QStringLiteral("| %1 | %2 | %3 | %4 | %5 | %6 | %7 | %8 | %9 |")
               .arg(cell(label))
               .arg(run.tokensIn)
               .arg(run.tokensOut)
               .arg(ms(run.ttftSeconds), run.hasSpeed() ? numberText(run.tokensPerSecond, 1) : QStringLiteral("–"),
                    ms(run.itl(0.5)), ms(run.itl(0.95)), ms(run.itl(0.99)),
                    numberText(100 * run.hitRate, 1) + QStringLiteral(" %")) +
           QStringLiteral(" %1 | %2 | %3 |\n")
               .arg(bytesText(run.bytesCopied), numberText(run.meanBits, 2), cell(run.device));
}

}  // namespace

double BenchmarkRun::itl(double share) const {
    return engine::percentile(itlSeconds, share);
}

BenchmarkReport beginReport() {
    BenchmarkReport report;
    report.programVersion = QCoreApplication::applicationVersion();
    report.created = QDateTime::currentDateTime();
    const engine::Hardware host = engine::detect_host();
    report.cpu = QString::fromStdString(host.cpu_model);
    report.cores = host.n_cores;
    report.ramBytes = static_cast<quint64>(std::max<std::int64_t>(0, host.ram.total_bytes));
    return report;
}

QByteArray benchmarkCsv(const BenchmarkReport& report) {
    QString text = QStringLiteral(
        "kind,label,time,tokens_in,tokens_reused,tokens_out,ttft_s,tokens_per_s,itl_p50_s,itl_p95_s,itl_p99_s,"
        "hit_rate,bytes_copied,mean_bits,policy,finish,seed,vram_bytes,ram_bytes,context,model,fingerprint,device,"
        "emulated,program\r\n");
    for (const BenchmarkRun& run : report.answers) {
        text += runLine(QStringLiteral("answer"), report, run);
    }
    for (const BenchmarkRun& run : report.scenarios) {
        text += runLine(QStringLiteral("scenario"), report, run);
    }
    for (const BenchmarkComparison& pair : report.comparisons) {
        text += runLine(QStringLiteral("plan A"), report, pair.a);
        text += runLine(QStringLiteral("plan B"), report, pair.b);
    }
    return text.toUtf8();
}

QByteArray benchmarkJson(const BenchmarkReport& report) {
    const engine::ModelSummary& m = report.model;
    const auto text = [](const std::string& s) { return QString::fromStdString(s); };
    QJsonArray comparisons;
    for (const BenchmarkComparison& pair : report.comparisons) {
        comparisons.append(QJsonObject{{QStringLiteral("prompt"), pair.prompt},
                                       {QStringLiteral("a"), runJson(pair.a, true)},
                                       {QStringLiteral("b"), runJson(pair.b, true)}});
    }
    const QJsonObject root{
        {QStringLiteral("format"), QStringLiteral("offstage.benchmark")},
        {QStringLiteral("version"), 1},
        {QStringLiteral("created"), report.created.toString(Qt::ISODateWithMs)},
        {QStringLiteral("program"), QJsonObject{{QStringLiteral("name"), QStringLiteral("Offstage")},
                                                {QStringLiteral("version"), report.programVersion}}},
        {QStringLiteral("hardware"), QJsonObject{{QStringLiteral("cpu"), report.cpu},
                                                 {QStringLiteral("cores"), report.cores},
                                                 {QStringLiteral("threads"), m.n_threads},
                                                 {QStringLiteral("instruction_set"), text(m.instruction_set)},
                                                 {QStringLiteral("ram_bytes"), static_cast<qint64>(report.ramBytes)},
                                                 {QStringLiteral("device"), text(m.device)},
                                                 {QStringLiteral("device_name"), text(m.device_name)},
                                                 {QStringLiteral("emulated"), m.emulated},
                                                 {QStringLiteral("emulated_host"), m.emulated_host}}},
        {QStringLiteral("timing"), m.emulated ? QStringLiteral("accounted") : QStringLiteral("device clock")},
        {QStringLiteral("model"),
         QJsonObject{{QStringLiteral("name"), text(m.name)},
                     {QStringLiteral("source"), text(m.source)},
                     {QStringLiteral("fingerprint"),
                      report.fingerprint.isEmpty() ? QJsonValue() : QJsonValue(report.fingerprint)},
                     {QStringLiteral("architecture"), text(m.architecture)},
                     {QStringLiteral("n_layers"), static_cast<qint64>(m.n_layers)},
                     {QStringLiteral("n_experts"), static_cast<qint64>(m.n_experts)},
                     {QStringLiteral("n_active"), static_cast<qint64>(m.n_active)},
                     {QStringLiteral("hidden_dim"), static_cast<qint64>(m.hidden_dim)},
                     {QStringLiteral("ffn_dim"), static_cast<qint64>(m.ffn_dim)},
                     {QStringLiteral("vocab_size"), static_cast<qint64>(m.vocab_size)},
                     {QStringLiteral("weight_type"), text(m.weight_type)},
                     {QStringLiteral("total_weights"), static_cast<qint64>(m.total_weights)},
                     {QStringLiteral("active_weights"), static_cast<qint64>(m.active_weights)}}},
        {QStringLiteral("plan"),
         QJsonObject{{QStringLiteral("policy"), text(m.policy)},
                     {QStringLiteral("resident_experts"), static_cast<qint64>(m.resident_experts)},
                     {QStringLiteral("ram_experts"), static_cast<qint64>(m.ram_experts)},
                     {QStringLiteral("total_experts"), static_cast<qint64>(m.total_experts)},
                     {QStringLiteral("mean_bits"), report.meanBits},
                     {QStringLiteral("popularity"), text(m.popularity)}}},
        {QStringLiteral("budgets"), budgetsJson(report.setting)},
        {QStringLiteral("answers"), runsJson(report.answers)},
        {QStringLiteral("scenarios"), runsJson(report.scenarios)},
        {QStringLiteral("comparisons"), comparisons}};
    return QJsonDocument(root).toJson();
}

QByteArray benchmarkMarkdown(const BenchmarkReport& report) {
    const engine::ModelSummary& m = report.model;
    QString text = QStringLiteral("# ") + Export::tr("Benchmark of %1").arg(QString::fromStdString(m.name)) +
                   QStringLiteral("\n\n");
    const auto line = [&](const QString& name, const QString& value) {
        text += QStringLiteral("- %1: %2\n").arg(name, value);
    };
    line(Export::tr("date"), report.created.toString(Qt::ISODate));
    line(Export::tr("program"), QStringLiteral("Offstage ") + report.programVersion);
    line(Export::tr("computer"),
         Export::tr("%1, %2 cores, %3 RAM").arg(report.cpu).arg(report.cores).arg(bytesText(report.ramBytes)));
    line(Export::tr("device"),
         m.device == "cpu" || m.device.empty() ? hardwareText(m) : QString::fromStdString(m.device_name));
    if (m.emulated) {
        line(Export::tr("timing"), Export::tr("the device is emulated: its times are worked out, not measured"));
    }
    line(Export::tr("model"),
         modelText(m) + (report.fingerprint.isEmpty() ? QString() : QStringLiteral(", ") + report.fingerprint));
    line(Export::tr("budgets"), settingText(report.setting));
    line(Export::tr("ITL"), Export::tr("each decode step of the engine, by the device's clock"));
    const auto table = [&](const QString& title, const std::vector<BenchmarkRun>& runs) {
        if (runs.empty()) {
            return;
        }
        text += QStringLiteral("\n## ") + title + QStringLiteral("\n\n") + tableHead();
        for (const BenchmarkRun& run : runs) {
            text += tableLine(run, run.label);
        }
    };
    table(Export::tr("Answers"), report.answers);
    table(Export::tr("Scenarios"), report.scenarios);
    for (const BenchmarkComparison& pair : report.comparisons) {
        text += QStringLiteral("\n## ") + Export::tr("Two plans on one prompt") + QStringLiteral("\n\n> ") +
                QString(pair.prompt).replace(u'\n', QStringLiteral("\n> ")) + QStringLiteral("\n\n") + tableHead() +
                tableLine(pair.a, Export::tr("A: %1").arg(settingText(pair.a.setting))) +
                tableLine(pair.b, Export::tr("B: %1").arg(settingText(pair.b.setting)));
    }
    return text.toUtf8();
}

bool saveBenchmark(const BenchmarkReport& report, const QString& path, QString* why) {
    const QString ending = path.section(u'.', -1).toLower();
    const QByteArray bytes = ending == QLatin1String("csv")    ? benchmarkCsv(report)
                             : ending == QLatin1String("json") ? benchmarkJson(report)
                                                               : benchmarkMarkdown(report);
    const QString failure = saveFile(path, bytes);
    if (!failure.isEmpty() && why != nullptr) {
        *why = Export::tr("The results could not be saved as %1: %2.").arg(path, failure);
    }
    return failure.isEmpty();
}

}  // namespace offstage::ui
