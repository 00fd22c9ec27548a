#include "ui/engine/format.h"

#include <cmath>

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QLocale>

#include "engine/model/model_finder.h"

namespace offstage::ui {

namespace {

struct Format {
    Q_DECLARE_TR_FUNCTIONS(Format)
};

QString instructionSetText(const QString& name) {
    static const struct {
        const char16_t* name;
        const char16_t* shown;
    } kNames[] = {
        {u"avx512_bf16", u"AVX-512 bf16"},
        {u"avx512", u"AVX-512"},
        {u"avx2", u"AVX2"},
        {u"neon", u"NEON"},
        {u"scalar", u"scalar"},
    };
    for (const auto& entry : kNames) {
        if (name == QStringView(entry.name)) {
            return QStringView(entry.shown).toString();
        }
    }
    return name;
}

}  // namespace

QString bytesText(quint64 bytes) {
    if (bytes == 1) return Format::tr("1 byte");  // Qt has one form for all numbers
    return QLocale().formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeIecFormat);
}

QString formatText(const engine::FormatRow& format) {
    return Format::tr("%1 bit (%2)")
        .arg(format.bits)
        .arg(QString::fromLatin1(format.method.data(), static_cast<qsizetype>(format.method.size())));
}

QString formatText(std::span<const engine::FormatRow> rows, std::size_t id) {
    return id < rows.size() ? formatText(rows[id]) : QString();
}

QString secondsText(double seconds) {
    return seconds < 1 ? Format::tr("%1 ms").arg(qRound(seconds * 1000))
                       : Format::tr("%1 s").arg(QLocale().toString(seconds, 'f', 1));
}

QString percentText(double share) {
    return std::isfinite(share) ? QLocale().toString(100 * share, 'f', 1) + QStringLiteral(" %") : QStringLiteral("–");
}

QString countText(qint64 count) {
    const double value = static_cast<double>(count);
    if (value >= 1e9) {
        return Format::tr("%1 B").arg(QLocale().toString(value / 1e9, 'f', 1));
    }
    if (value >= 1e6) {
        return Format::tr("%1 M").arg(QLocale().toString(value / 1e6, 'f', value < 1e7 ? 1 : 0));
    }
    return QLocale().toString(count);
}

QString hardwareText(const engine::ModelSummary& model) {
    if (!model.device.empty() && model.device != "cpu") {
        const QString name = QString::fromStdString(model.device_name).remove(QStringLiteral(" (emulated)"));
        const QString vram = bytesText(model.vram_budget_bytes);
        return model.emulated ? Format::tr("%1 (emulated) · %2 VRAM").arg(name, vram)
                              : Format::tr("%1 · %2 VRAM").arg(name, vram);
    }
    QString text =
        model.n_threads == 1 ? Format::tr("CPU · 1 thread") : Format::tr("CPU · %1 threads").arg(model.n_threads);
    const QString set = instructionSetText(QString::fromStdString(model.instruction_set));
    return set.isEmpty() ? text : text + QStringLiteral(" · ") + set;
}

QString modelText(const engine::ModelSummary& model) {
    return Format::tr("%1 layers × %2 experts, %3 active").arg(model.n_layers).arg(model.n_experts).arg(model.n_active);
}

QString speedText(double tokensPerSecond, SpeedKind kind) {
    const QString number = QLocale().toString(tokensPerSecond, 'f', 1);
    switch (kind) {
        case SpeedKind::Simulated:
            return Format::tr("%1 tokens/s (simulated)").arg(number);
        case SpeedKind::Forecast:
            return Format::tr("%1 tokens/s (forecast)").arg(number);
        case SpeedKind::Measured:
            break;
    }
    return Format::tr("%1 tokens/s (measured)").arg(number);
}

QString tokenSpeedText(double tokensPerSecond, bool emulated) {
    return speedText(tokensPerSecond, emulated ? SpeedKind::Simulated : SpeedKind::Measured);
}

QString rateText(double tokensPerSecond) {
    return tokensPerSecond <= 0 ? QStringLiteral("–")
                                : QLocale().toString(tokensPerSecond, 'f', tokensPerSecond < 100 ? 1 : 0);
}

QString readingText(qint64 read, qint64 tokens) {
    const QLocale locale;
    return Format::tr("Reading the prompt: %1 of %2 tokens").arg(locale.toString(read), locale.toString(tokens));
}

QString firstTokenText(double seconds) {
    if (seconds <= 0) {
        return QStringLiteral("–");
    }
    return seconds < 0.01 ? Format::tr("%1 ms").arg(QLocale().toString(1e3 * seconds, 'f', 2)) : secondsText(seconds);
}

QString policyText(engine::CacheKind policy) {
    using Kind = engine::CacheKind;
    switch (policy) {
        case Kind::kLru:
            return Format::tr("Least recently used (LRU)");
        case Kind::kLfu:
            return Format::tr("Least often used (LFU)");
        case Kind::kSlru:
            return Format::tr("Least recently used, often used protected (SLRU)");
        case Kind::kStatic:
            return Format::tr("Most popular, fixed");
        case Kind::kLruLayer:
            return Format::tr("Least recently used in each layer (LRU)");
    }
    return {};
}

QString thetaText(const engine::ThetaChoice& theta) {
    if (!theta.leaves_out()) {
        return {};
    }
    const QString text =
        theta.loss > 0
            ? Format::tr("neurons skipped by expert, for a loss of %1").arg(QLocale().toString(theta.loss, 'g', 3))
            : Format::tr("neurons up to %1 skipped").arg(QLocale().toString(theta.theta, 'g', 3));
    return theta.accepts_guesses() ? Format::tr("%1, guesses accepted", "skipped neurons").arg(text) : text;
}

QStringList figureParts(const AnswerFigures& figures) {
    QStringList parts;
    if (figures.ttftSeconds > 0) {
        parts << Format::tr("first token %1").arg(secondsText(figures.ttftSeconds));
    }
    if (figures.tokensPerSecond > 0) {
        parts << tokenSpeedText(figures.tokensPerSecond, figures.emulated);
    }
    QString in = Format::tr("%1 in").arg(QLocale().toString(figures.tokensIn));
    if (figures.tokensReused > 0) {
        in += Format::tr(" (%1 reused)").arg(QLocale().toString(figures.tokensReused));
    }
    parts << in + Format::tr(", %1 out").arg(QLocale().toString(figures.tokensOut));
    if (figures.drafted > 0) {
        parts << Format::tr("%1 tokens a step").arg(QLocale().toString(figures.tokensPerStep, 'f', 2));
    }
    const engine::ThetaChoice theta(
        figures.theta, figures.thetaLoss,
        figures.acceptsGuesses ? engine::NeuronGuesses::kAccept : engine::NeuronGuesses::kCorrect);
    if (theta.leaves_out()) {
        parts << thetaText(theta);
    }
    return parts;
}

QString figuresText(const AnswerFigures& figures) {
    return figureParts(figures).join(QStringLiteral(" · "));
}

QString draftsText(qint64 drafted, qint64 accepted, double tokensPerStep, double moreExperts) {
    if (drafted == 0) {
        return {};
    }
    const QLocale locale;
    return Format::tr("Drafts: %1 of %2 tokens were right, %3 tokens a step; steps called %4 more experts.",
                      "number, number, number, share")
        .arg(locale.toString(accepted), locale.toString(drafted), locale.toString(tokensPerStep, 'f', 2),
             percentText(moreExperts));
}

QString thoughtText(const Thought& thought, bool goesOn) {
    // During an answer seconds are shown as whole numbers: digits that change with every
    // token distract.
    const bool fine = !goesOn && thought.seconds < 9.95;
    const QString seconds = Format::tr("%1 s").arg(QLocale().toString(thought.seconds, 'f', fine ? 1 : 0));
    const QString tokens =
        thought.tokens == 1 ? Format::tr("1 token") : Format::tr("%1 tokens").arg(QLocale().toString(thought.tokens));
    if (goesOn) {
        return Format::tr("Thinking… %1, %2").arg(seconds, tokens);
    }
    if (thought.tokens == 0) {
        return Format::tr("Thought");
    }
    return thought.seconds >= 0.05 ? Format::tr("Thought for %1, %2").arg(seconds, tokens)
                                   : Format::tr("Thought, %1").arg(tokens);
}

QString modelNameOf(const QString& source) {
    if (source.startsWith(QStringLiteral("synthetic:"))) {
        return source;
    }
    const QString inCache = QString::fromStdString(engine::name_in_cache(QDir::cleanPath(source).toStdString()));
    if (!inCache.isEmpty()) {
        return inCache;
    }
    const QString name = QFileInfo(QDir::cleanPath(source)).fileName();
    return name.isEmpty() ? source : name;
}

}  // namespace offstage::ui
