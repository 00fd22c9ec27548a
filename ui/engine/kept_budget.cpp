#include "ui/engine/kept_budget.h"

#include <exception>
#include <utility>

#include <QCryptographicHash>
#include <QFileInfo>

#include "ui/base/settings.h"

namespace offstage::ui {

namespace {

// A path may contain characters that a key of the settings must not.
QString hashOf(const QString& text) {
    return QString::fromLatin1(QCryptographicHash::hash(text.toUtf8(), QCryptographicHash::Sha256).toHex().left(24));
}

// Of a model on a device, in the settings' keys.
QString idOf(const QString& model, const QString& device) {
    return hashOf(model + u'\n' + device);
}

}  // namespace

void KeptBudget::keep(const QString& model, const QString& device, const engine::ReplanRequest& change) {
    QSettings open;
    const QString id = idOf(model, device);
    if (change.vram_bytes) {
        settings::kBudgetVram[id].set(open, quint64{*change.vram_bytes});
    }
    if (change.ram_bytes) {
        settings::kBudgetRam[id].set(open, quint64{*change.ram_bytes});
    }
    if (change.context) {
        settings::kBudgetContext[id].set(open, qint64{*change.context});
    }
    if (change.kv) {
        settings::kBudgetKv[id].set(open, QString::fromUtf8(engine::name_of(*change.kv).data()));
    }
    if (change.quality) {
        settings::kBudgetBits[id].set(open, change.quality->min_mean_bits);
        settings::kBudgetLoss[id].set(open, change.quality->max_loss);
        settings::kBudgetKl[id].set(open, change.quality->max_kl);
        settings::kBudgetExperts[id].remove(open);
    }
    if (change.experts) {
        settings::kBudgetExperts[id].set(
            open, QString::fromStdString(std::string(engine::format_row(*change.experts).option)));
        settings::kBudgetBits[id].remove(open);
        settings::kBudgetLoss[id].remove(open);
        settings::kBudgetKl[id].remove(open);
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
    QSettings open;
    const QString id = idOf(model, device);
    settings::kBudgetCache[id].set(open, QString::fromUtf8(engine::name_of(chosen.cache).data()));
    settings::kBudgetNeuronCache[id].set(open, quint64{chosen.neuron_cache_bytes});
    for (const auto& [setting, value] : {std::pair(settings::kChatTemplate, &chosen.chat_template),
                                         std::pair(settings::kDraftModel, &chosen.draft_model)}) {
        if (value->empty()) {
            setting[hashOf(model)].remove(open);
        } else {
            setting[hashOf(model)].set(open, QString::fromStdString(*value));
        }
    }
}

QString KeptBudget::chatTemplate(const QString& model) {
    return settings::kChatTemplate[hashOf(model)].value();
}

QString KeptBudget::draftModel(const QString& model) {
    const QString kept = settings::kDraftModel[hashOf(model)].value();
    return QFileInfo::exists(kept) ? kept : QString();
}

void KeptBudget::forget(const QString& model, const QString& device) {
    settings::kBudget[idOf(model, device)].remove();
}

void KeptBudget::applyTo(engine::LoadRequest& request) {
    const QString id = idOf(QString::fromStdString(request.model), QString::fromStdString(request.device));
    // A format or policy of another version is ignored.
    const auto read = [&](const SettingOf<QString>& setting, const auto& apply) {
        const std::optional<QString> kept = setting[id].kept();
        try {
            if (kept) {
                apply(kept->toStdString());
            }
        } catch (const std::exception&) {
        }
    };
    request.vram_bytes = settings::kBudgetVram[id].kept().value_or(request.vram_bytes);
    request.ram_bytes = settings::kBudgetRam[id].kept().value_or(request.ram_bytes);
    request.context = settings::kBudgetContext[id].kept().value_or(request.context);
    read(settings::kBudgetKv, [&](const std::string& name) { request.kv = engine::parse_kv_type(name); });
    read(settings::kBudgetCache, [&](const std::string& name) { request.cache = engine::parse_cache_kind(name); });
    request.neuron_cache_bytes = settings::kBudgetNeuronCache[id].kept().value_or(request.neuron_cache_bytes);
    if (const std::optional<double> bits = settings::kBudgetBits[id].kept()) {
        request.quality.min_mean_bits = *bits;
        request.quality.max_loss = settings::kBudgetLoss[id].value();
        request.quality.max_kl = settings::kBudgetKl[id].value();
        request.quant.experts.reset();
    }
    read(settings::kBudgetExperts, [&](const std::string& name) {
        request.quant.experts = engine::parse_quant("experts=" + name).experts;
        request.quality = {};
    });
}

}  // namespace offstage::ui
