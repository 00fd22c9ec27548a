#include "ui/engine/kept_budget.h"

#include <exception>

#include <QCryptographicHash>
#include <QSettings>

namespace offstage::ui {

namespace {

const QString kVram = QStringLiteral("vram");
const QString kRam = QStringLiteral("ram");
const QString kContext = QStringLiteral("context");
const QString kKv = QStringLiteral("kv");
const QString kBits = QStringLiteral("minMeanBits");
const QString kLoss = QStringLiteral("maxLoss");
const QString kKl = QStringLiteral("maxKl");
const QString kExperts = QStringLiteral("experts");
const QString kCache = QStringLiteral("cache");
const QString kNeuronCache = QStringLiteral("neuronCache");

// A path may contain characters that a key of the settings must not.
QString hashOf(const QString& text) {
    return QString::fromLatin1(QCryptographicHash::hash(text.toUtf8(), QCryptographicHash::Sha256).toHex().left(24));
}

QString groupOf(const QString& model, const QString& device) {
    return QStringLiteral("budgets/") + hashOf(model + u'\n' + device);
}

QString templateKey(const QString& model) {
    return QStringLiteral("chatTemplates/") + hashOf(model);
}

}  // namespace

void KeptBudget::keep(const QString& model, const QString& device, const engine::ReplanRequest& change) {
    QSettings settings;
    settings.beginGroup(groupOf(model, device));
    if (change.vram_bytes) {
        settings.setValue(kVram, quint64{*change.vram_bytes});
    }
    if (change.ram_bytes) {
        settings.setValue(kRam, quint64{*change.ram_bytes});
    }
    if (change.context) {
        settings.setValue(kContext, qint64{*change.context});
    }
    if (change.kv) {
        settings.setValue(kKv, QString::fromUtf8(engine::name_of(*change.kv).data()));
    }
    if (change.quality) {
        settings.setValue(kBits, change.quality->min_mean_bits);
        settings.setValue(kLoss, change.quality->max_loss);
        settings.setValue(kKl, change.quality->max_kl);
        settings.remove(kExperts);
    }
    if (change.experts) {
        settings.setValue(kExperts, QString::fromStdString(std::string(engine::format_row(*change.experts).option)));
        settings.remove(kBits);
        settings.remove(kLoss);
        settings.remove(kKl);
    }
}

void KeptBudget::keep(const engine::LoadRequest& chosen) {
    const QString model = QString::fromStdString(chosen.model), device = QString::fromStdString(chosen.device);
    forget(model, device);
    engine::ReplanRequest all;
    all.vram_bytes = chosen.vram_bytes;
    all.ram_bytes = chosen.ram_bytes;
    all.context = chosen.context;
    all.kv = chosen.kv;
    all.experts = chosen.quant.experts;
    all.quality = chosen.quant.experts ? std::nullopt : std::optional(chosen.quality);
    keep(model, device, all);
    QSettings settings;
    settings.beginGroup(groupOf(model, device));
    settings.setValue(kCache, QString::fromUtf8(engine::name_of(chosen.cache).data()));
    settings.setValue(kNeuronCache, quint64{chosen.neuron_cache_bytes});
    settings.endGroup();
    if (chosen.chat_template.empty()) {
        settings.remove(templateKey(model));
    } else {
        settings.setValue(templateKey(model), QString::fromStdString(chosen.chat_template));
    }
}

QString KeptBudget::chatTemplate(const QString& model) {
    return QSettings().value(templateKey(model)).toString();
}

void KeptBudget::forget(const QString& model, const QString& device) {
    QSettings().remove(groupOf(model, device));
}

void KeptBudget::applyTo(engine::LoadRequest& request) {
    QSettings settings;
    settings.beginGroup(groupOf(QString::fromStdString(request.model), QString::fromStdString(request.device)));
    if (settings.contains(kVram)) {
        request.vram_bytes = settings.value(kVram).toULongLong();
    }
    if (settings.contains(kRam)) {
        request.ram_bytes = settings.value(kRam).toULongLong();
    }
    if (settings.contains(kContext)) {
        request.context = settings.value(kContext).toLongLong();
    }
    // A format or policy of another version is ignored.
    if (settings.contains(kKv)) {
        try {
            request.kv = engine::parse_kv_type(settings.value(kKv).toString().toStdString());
        } catch (const std::exception&) {
        }
    }
    if (settings.contains(kCache)) {
        try {
            request.cache = engine::parse_cache_kind(settings.value(kCache).toString().toStdString());
        } catch (const std::exception&) {
        }
    }
    if (settings.contains(kNeuronCache)) {
        request.neuron_cache_bytes = settings.value(kNeuronCache).toULongLong();
    }
    if (settings.contains(kBits)) {
        request.quality.min_mean_bits = settings.value(kBits).toDouble();
        request.quality.max_loss = settings.value(kLoss).toDouble();
        request.quality.max_kl = settings.value(kKl).toDouble();
        request.quant.experts.reset();
    }
    if (settings.contains(kExperts)) {
        try {
            const auto kept = engine::parse_quant("experts=" + settings.value(kExperts).toString().toStdString());
            request.quant.experts = kept.experts;
            request.quality = {};
        } catch (const std::exception&) {
        }
    }
}

}  // namespace offstage::ui
