#include "ui/load/fit_view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QComboBox>
#include <QEvent>
#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "engine/text/family_templates.h"
#include "ui/base/delay.h"
#include "ui/base/save_file.h"
#include "ui/base/settings.h"
#include "ui/base/theme.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/engine/kept_budget.h"
#include "ui/load/fit_worker.h"
#include "ui/load/memory_rows.h"
#include "ui/load/open_model_dialog.h"
#include "ui/load/precision_fields.h"
#include "ui/plot/stacked_bar.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/file_choice.h"
#include "ui/widgets/labels.h"
#include "ui/widgets/value_slider.h"

namespace offstage::ui {

namespace {

constexpr quint64 kBytesPerMiB = quint64{1} << 20;
constexpr int kLeastPath = 16;  // letters
constexpr int kVerdictLines = 3, kSpeedLines = 2, kFitLegendLines = 2;
constexpr quint64 kPlenty = quint64{64} << 30;  // until the machine is known
constexpr double kContextRange = 32768;         // until the model is known

QString withoutTemplateText() {
    return FitView::tr(
        "Fits, but cannot answer messages: it has no chat template. Choose that of its family at “Chat template”.");
}

FileChoice* newTemplateChoice() {
    const QStringList families = QString::fromStdString(engine::family_template_names()).split(QStringLiteral(", "));
    return new FileChoice(FitView::tr("the model's own"), families, FitView::tr("From a file…"),
                          [](QWidget* parent, const FileChoice::Taken& taken) {
                              openFileDialog(parent, FitView::tr("Choose a chat template"), {},
                                             settings::kLastTemplateFolder, taken);
                          });
}

QString tokensText(qint64 tokens) {
    return QLocale().toString(tokens);
}

}  // namespace

FitView::FitView(QWidget* parent)
    : QWidget(parent),
      m_device(new QComboBox),
      m_vram(new ValueSlider(tr("VRAM budget"))),
      m_ram(new ValueSlider(tr("RAM budget"))),
      m_context(new ValueSlider(tr("Context in tokens"))),
      m_kv(newKvBox()),
      m_quality(new QualityEdit),
      m_cache(new QComboBox),
      m_neuronCache(new ValueSlider(tr("Neuron cache"))),
      m_template(newTemplateChoice()),
      m_draftModel(new FileChoice(
          tr("none", "draft model"), {}, tr("A smaller model…"),
          [this](QWidget* asking, const FileChoice::Taken& taken) { chooseModelFile(asking, taken, m_model); })),
      m_bars(new StackedBar),
      m_verdict(textLabel(tr("Whether the model fits"))),
      m_detail(mutedLabel()),
      m_speed(textLabel(tr("Expected speed"))),
      m_measure(new QPushButton),
      m_changes(new QVBoxLayout),
      m_worker(new FitWorker(this)) {
    build();
    fillDevices();
    connect(&m_devices, &DeviceChoices::changed, this, &FitView::fillDevices);
    m_devices.look();
    callAfter(m_timer, kDelayMs, this, &FitView::ask);
    connect(m_worker, &FitWorker::estimated, this, &FitView::showEstimate);
    connect(m_worker, &FitWorker::failed, this, &FitView::showFailure);
    connect(m_worker, &FitWorker::measured, this, [this](double share) {
        m_percent = qRound(100 * share);
        showSpeed();
    });
    connect(m_measure, &QPushButton::clicked, this, &FitView::measureOrCancel);
    connect(m_context, &ValueSlider::changed, this, [this] { m_choseContext |= !m_filling; });
    for (ValueSlider* slider : {m_vram, m_ram, m_context, m_neuronCache}) {
        connect(slider, &ValueSlider::changed, this, &FitView::choiceChanged);
    }
    connect(m_device, &QComboBox::currentIndexChanged, this, &FitView::deviceChosen);
    connect(m_cache, &QComboBox::currentIndexChanged, this, &FitView::choiceChanged);
    for (FileChoice* choice : {m_template, m_draftModel}) {
        connect(choice, &FileChoice::chosenByUser, this, &FitView::choiceChanged);
    }
    connect(m_kv, &QComboBox::currentIndexChanged, this, &FitView::choiceChanged);
    connect(m_quality, &QualityEdit::changed, this, &FitView::choiceChanged);
    showSpeed();
}

FitView::~FitView() = default;

void FitView::build() {
    m_bars->setOwnScales(true);
    m_bars->setAccessibleName(tr("What the model would take of each memory"));
    m_bars->setEmptyText(tr("Choose a model to see what it would take."));
    m_bars->setFileName(QStringLiteral("fit"));
    m_verdict->setContentsMargins(10, 6, 10, 6);
    m_changes->setSpacing(4);
    m_measure->setAutoDefault(false);

    describe(*m_device, tr("Device"),
             tr("What computes the attention and the experts that find room on it. Emulated devices take a "
                "part of this computer's memory and work out the time that the real one would take"));
    m_vram->setToolTip(tr("Memory of the device that Offstage may take"));
    m_ram->setToolTip(tr("Memory of this computer that Offstage may take"));
    m_context->setToolTip(tr("Tokens that a conversation can hold"));
    m_vram->setByteRange(0, kPlenty);
    m_ram->setByteRange(0, kPlenty);
    m_context->setRange(0, kContextRange, 256, 0);
    m_vram->setLowestText(tr("all there is"));
    m_ram->setLowestText(tr("what is free"));
    m_context->setLowestText(tr("the model's own"));
    m_neuronCache->setToolTip(
        tr("Memory of the device that keeps neurons of experts which were copied without the others, so that an expert "
           "that is called again needs only those that are missing. Of use while the Budget panel skips neurons; "
           "answers stay the same"));
    m_neuronCache->setByteRange(0, kPlenty);
    m_neuronCache->setLowestText(tr("none", "neuron cache"));
    alignFields({m_vram, m_ram, m_context, m_neuronCache}, *m_quality);
    describe(*m_cache, tr("Cache policy"), tr("Which experts that were copied on demand stay on the device"));
    for (const engine::CacheKind kind : engine::kCacheKinds) {
        m_cache->addItem(policyText(kind), static_cast<int>(kind));
    }

    describe(
        *m_template, tr("Chat template"),
        tr("How messages are written for the model. For files that bring no chat template, or one that cannot be used: "
           "that of the family it was made from, or a file in Jinja or as Ollama writes them"));
    describe(*m_draftModel, tr("Draft model"),
             tr("A small model with the same vocabulary that says on the CPU which tokens probably follow. The model "
                "checks several of them in one step and answers the same as without, sooner where enough of them are "
                "right. The draft model's memory comes on top of what is shown here"));
    letShrink(*m_draftModel, kLeastPath);

    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(6);
    int row = 0;
    const auto addRow = [&](const QString& text, QWidget* field) {
        auto* label = new QLabel(text);
        // A label cannot give the focus to a widget that does not accept it, such as a
        // slider with its box: takes the focus proxy.
        label->setBuddy(field->focusProxy() ? field->focusProxy() : field);
        grid->addWidget(label, row, 0);
        grid->addWidget(field, row++, 1);
        return label;
    };
    addRow(tr("&Device"), m_device);
    addRow(tr("&VRAM"), m_vram);
    addRow(tr("&RAM"), m_ram);
    addRow(tr("Conte&xt"), m_context);
    addRow(tr("&KV cache"), m_kv);
    addRow(tr("&Experts"), m_quality);
    addRow(tr("Cac&he"), m_cache);
    m_neuronCacheName = addRow(tr("&Neurons"), m_neuronCache);
    addRow(tr("Chat &template"), m_template);
    addRow(tr("Dr&aft model"), m_draftModel);
    grid->setColumnStretch(1, 1);

    // Fixed room for every verdict, so that buttons never move under the pointer. Only
    // parts without buttons follow below those that change.
    const int line = fontMetrics().lineSpacing();
    m_verdict->setMinimumHeight(kVerdictLines * line + 12);
    m_speed->setMinimumHeight(kSpeedLines * line);
    for (QLabel* label : {m_verdict, m_speed}) {
        label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    }
    keepRoom(*m_measure);
    m_measure->setText(tr("Mea&sure again"));
    m_measure->setFixedWidth(m_measure->sizeHint().width());
    m_bars->setReserve(2, kFitLegendLines);

    auto* speed = rowOf({{m_speed, 1}, {m_measure, 0, Qt::AlignTop}}, inset(10, 0, 0, 0));
    columnOf(this, {grid, Gap{6}, m_verdict, speed, m_changes, m_detail, m_bars, Stretch{1}}, flush(10));
}

// The list grows when the hardware has been detected; the choice stays.
void FitView::fillDevices() {
    const QSignalBlocker quiet(m_device);
    const QString chosen = m_device->currentData().toString();
    m_device->clear();
    for (const DeviceChoice& choice : m_devices.choices()) {
        m_device->addItem(choice.emulated ? tr("emulated: %1").arg(choice.name) : choice.name, choice.id);
        m_device->setItemData(m_device->count() - 1, choice.details, Qt::ToolTipRole);
    }
    choose(chosen.isEmpty() ? QStringLiteral("cpu") : chosen);
}

void FitView::choose(const QString& device) {
    int index = m_device->findData(device);
    if (index < 0) {  // not found here, or one of the user's own profiles
        m_device->addItem(device, device);
        index = m_device->count() - 1;
    }
    m_device->setCurrentIndex(index);
}

void FitView::setRequest(const engine::LoadRequest& request) {
    m_filling = true;
    m_base = request;
    m_model = QString::fromStdString(request.model);
    QString device = QString::fromStdString(request.device);
    if (device.isEmpty()) {
        device = QStringLiteral("cpu");
    }
    choose(device);
    m_vram->setBytes(request.vram_bytes);
    m_ram->setBytes(request.ram_bytes);
    proposeContext(request.context);
    setKv(*m_kv, request.kv);
    m_quality->set(request.quality, request.quant.experts);
    m_cache->setCurrentIndex(std::max(0, m_cache->findData(static_cast<int>(request.cache))));
    m_neuronCache->setBytes(request.neuron_cache_bytes);
    m_template->choose(QString::fromStdString(request.chat_template));
    m_draftModel->choose(QString::fromStdString(request.draft_model));
    m_filling = false;
    deviceChosen();
}

void FitView::setModel(const QString& model) {
    m_model = model;
    m_template->choose(KeptBudget::chatTemplate(model));
    m_draftModel->choose(KeptBudget::draftModel(model));
    if (!m_choseContext) {  // the one shown was the other model's
        engine::LoadRequest kept = request();
        kept.context = 0;
        KeptBudget::applyTo(kept);
        proposeContext(kept.context);
    }
    forgetEstimate();
    setVerdict(tr("Looking at the model…"), Verdict::Good);
    choiceChanged();
}

void FitView::proposeContext(std::int64_t context) {
    const bool wasFilling = std::exchange(m_filling, true);
    m_context->setRange(0, std::max(kContextRange, static_cast<double>(context)), 256, 0);
    m_context->setValue(static_cast<double>(context));
    m_choseContext = false;
    m_filling = wasFilling;
}

void FitView::setHeld(const engine::FitHeld& held) {
    m_held = held;
    choiceChanged();
}

engine::LoadRequest FitView::request() const {
    engine::LoadRequest request = m_base;
    request.model = m_model.toStdString();
    request.device = m_device->currentData().toString().toStdString();
    request.vram_bytes = m_vram->isEnabled() ? m_vram->bytes() : 0;
    request.ram_bytes = m_ram->bytes();
    request.context = std::llround(m_context->value());
    request.kv = kvOf(*m_kv);
    request.quality = m_quality->floor();
    request.quant.experts = m_quality->experts();
    request.cache = static_cast<engine::CacheKind>(m_cache->currentData().toInt());
    request.neuron_cache_bytes = m_vram->isEnabled() ? m_neuronCache->bytes() : 0;
    request.chat_template = m_template->chosen().toStdString();
    request.draft_model = m_draftModel->chosen().toStdString();
    return request;
}

engine::LoadRequest FitView::requestForOthers() const {
    engine::LoadRequest request = this->request();
    request.draft_model.clear();
    if (!m_choseContext) {
        request.context = 0;
    }
    return request;
}

bool FitView::isEstimating() const {
    return m_timer.isActive() || m_asked;
}

QString FitView::verdict() const {
    return m_verdict->text();
}

QList<QPushButton*> FitView::changeButtons() const {
    QList<QPushButton*> buttons;
    for (int i = 0; i < m_changes->count(); ++i) {
        if (auto* button = qobject_cast<QPushButton*>(m_changes->itemAt(i)->widget())) {
            buttons.append(button);
        }
    }
    return buttons;
}

void FitView::deviceChosen() {
    const bool cpu = m_device->currentData().toString() == QLatin1String("cpu");
    m_vram->setEnabled(!cpu);
    m_neuronCache->setVisible(!cpu);
    m_neuronCacheName->setVisible(!cpu);
    m_vram->setToolTip(cpu ? tr("The CPU has no memory of its own: RAM counts")
                           : tr("Memory of the device that Offstage may take"));
    choiceChanged();
}

void FitView::choiceChanged() {
    if (m_filling) {
        return;
    }
    if (m_model.isEmpty()) {
        m_timer.stop();
        setVerdict(tr("No model is chosen yet."), Verdict::Bad);
        Q_EMIT changed();
        return;
    }
    m_timer.start();
    Q_EMIT changed();
}

void FitView::ask() {
    m_isMeasuring = false;  // that was for other choices
    m_asked = true;
    m_askedModel = m_model;
    m_worker->ask(request(), m_held);
}

void FitView::showEstimate(const engine::FitEstimate& estimate) {
    m_asked = false;
    if (m_askedModel != m_model) {  // while this was worked out another was named
        return;
    }
    m_estimate = estimate;
    m_isMeasuring = false;
    m_filling = true;
    m_quality->setChoices(estimate.expert_formats());
    // Limited to useful sizes, once they are known; so both rows have the budgets' units.
    const quint64 ofUse = 2 * (estimate.vram.used() + estimate.ram.used()) + 128 * kBytesPerMiB;
    const quint64 vramAvailable = estimate.inputs.device.available_bytes;
    const auto ramAvailable = static_cast<quint64>(estimate.inputs.memory.available_bytes);
    if (vramAvailable > 0) {
        const quint64 needed =
            estimate.fits ? ofUse : 2 * (estimate.vram.budget + estimate.short_by) + 128 * kBytesPerMiB;
        const quint64 most = std::min(vramAvailable, needed);
        m_vram->setByteRange(0, std::max<quint64>(most, m_vram->bytes()));
        m_neuronCache->setByteRange(0, std::max<quint64>(most, m_neuronCache->bytes()));
    }
    if (ramAvailable > 0) {
        m_ram->setByteRange(
            0, std::max<quint64>(estimate.fits ? std::min(ramAvailable, ofUse) : ramAvailable, m_ram->bytes()));
    }
    if (const qint64 most = estimate.shape.spec.max_context; most > 0) {
        m_context->setRange(0, std::max({static_cast<double>(most), 256.0, m_context->value()}), 256, 0);
    }
    m_filling = false;

    std::vector<StackedBar::Row> rows;
    if (estimate.vram.total > 0) {
        rows.push_back(memoryRow(tr("VRAM"), estimate.vram, estimate.formats()));
    }
    if (estimate.ram.total > 0) {
        rows.push_back(memoryRow(tr("RAM"), estimate.ram, estimate.formats()));
    }
    m_bars->setRows(std::move(rows));

    QString text;
    const auto onDisk = estimate.plan.n_in(engine::Place::kDisk);
    if (!estimate.fits) {
        const QString memory = estimate.vram_is_short ? tr("VRAM") : tr("RAM");
        text = estimate.short_by > 0
                   ? tr("Does not fit: %1 of %2 are missing.").arg(bytesText(estimate.short_by), memory)
                   : tr("Does not fit.");
        m_detail->setText(engineText(estimate.problem));
    } else {
        const bool cpu = estimate.vram.total == 0;
        const qint64 all = estimate.shape.spec.experts.size();
        text = cpu ? tr("Fits: %1 of %2 experts in RAM, %3 tokens of context.")
                         .arg(estimate.plan.n_in(engine::Place::kRam))
                         .arg(all)
                         .arg(tokensText(estimate.plan.context))
                   : tr("Fits: %1 of %2 experts on the device, %3 tokens of context. About %4 of the expert calls will "
                        "find theirs there.")
                         .arg(estimate.plan.n_resident())
                         .arg(all)
                         .arg(tokensText(estimate.plan.context), percentText(estimate.plan.expected_hit_rate));
        QStringList more;
        if (const engine::ExpertFormats stored = estimate.expert_formats(); stored.in_blocks) {
            more << tr("In the file: experts in %1, all else in %2.")
                        .arg(QString::fromStdString(stored.stored), QString::fromStdString(estimate.dense_types));
        }
        if (onDisk > 0) {  // calm words would look like a promise
            more.prepend(text);
            text = estimate.forecast
                       ? tr("Fits, but slowly: %1 of %2 experts stay on disk. About %3 tokens/s (forecast).")
                             .arg(onDisk)
                             .arg(all)
                             .arg(rateText(estimate.forecast->decode_tokens_per_s))
                       : tr("Fits, but slowly: %1 of %2 experts stay on disk and are read whenever they are called.")
                             .arg(onDisk)
                             .arg(all);
        }
        if (!estimate.has_chat_template) {
            more.prepend(std::exchange(text, withoutTemplateText()));
        }
        if (estimate.formats_assumed()) {
            more << tr(
                "The formats are chosen once their cost has been measured; until then the smallest allowed one "
                "is counted.");
        }
        if (estimate.inputs.device.emulated) {
            more << tr(
                "The device is emulated: its memory is part of this computer's RAM, and its times are worked "
                "out, not measured.");
        }
        for (const engine::Message& note : estimate.all_notes()) {
            more << engineText(note);
        }
        m_detail->setText(more.join(u' '));
    }
    m_detail->setVisible(!m_detail->text().isEmpty());
    setVerdict(text, !estimate.fits                              ? Verdict::Bad
                     : onDisk > 0 || !estimate.has_chat_template ? Verdict::Slow
                                                                 : Verdict::Good);
    showChanges();
    showSpeed();
    Q_EMIT changed();
}

void FitView::showFailure(const EngineFailure& failure) {
    m_asked = false;
    if (m_askedModel != m_model) {
        return;
    }
    if (m_isMeasuring) {
        m_isMeasuring = false;
        showSpeed();
        if (failure.kind != engine::ErrorKind::kCancelled) {
            m_speed->setText(sentenceOf(failure));
        }
        return;
    }
    forgetEstimate();
    setVerdict(sentenceOf(failure), Verdict::Bad);
    Q_EMIT changed();
}

void FitView::forgetEstimate() {
    m_estimate.reset();
    m_bars->setRows({});
    m_detail->hide();
    showChanges();
    showSpeed();
}

// The forecast of plan, Budget and What if for the same choices, or how to get one.
void FitView::showSpeed() {
    const auto* forecast = m_estimate && m_estimate->forecast ? &*m_estimate->forecast : nullptr;
    const bool unknown = m_estimate && m_estimate->fits && forecast == nullptr;
    // A measurement on a busy computer stays too slow as long as it is stored. A fully
    // emulated machine is not measured.
    const bool again = forecast != nullptr && !m_estimate->inputs.device.emulated_host;
    m_measure->setVisible(unknown || again || m_isMeasuring);
    m_measure->setText(m_isMeasuring ? tr("&Cancel") : again ? tr("Mea&sure again") : tr("Mea&sure"));
    m_measure->setEnabled(m_isMeasuring || m_mayMeasure);
    m_measure->setToolTip(m_isMeasuring ? tr("What was measured so far is kept")
                          : m_mayMeasure
                              ? tr("Times this computer for some seconds with random weights of the model's shape; "
                                   "the times are kept")
                              : tr("An answer is being written; measured beside it, times would be wrong"));
    if (m_isMeasuring) {
        m_speed->setText(tr("Measuring this machine… %1 %").arg(m_percent));
    } else if (forecast != nullptr) {
        m_speed->setText(tr("Forecast: %1 tokens/s, first token of a prompt of %2 tokens after %3.")
                             .arg(rateText(forecast->decode_tokens_per_s), tokensText(forecast->prompt_tokens),
                                  firstTokenText(forecast->ttft_s)));
    } else {
        m_speed->setText(unknown ? tr("Speed: not measured yet on this machine.") : QString());
    }
}

void FitView::measureOrCancel() {
    if (m_isMeasuring) {
        m_worker->cancel();
        return;
    }
    m_isMeasuring = true;
    m_percent = 0;
    m_askedModel = m_model;
    m_worker->measure(request(), m_held, m_estimate && m_estimate->forecast);
    showSpeed();
    Q_EMIT changed();
}

void FitView::setMayMeasure(bool may) {
    m_mayMeasure = may;
    showSpeed();
}

QString FitView::speed() const {
    return m_speed->text();
}

void FitView::showChanges() {
    while (QLayoutItem* item = m_changes->takeAt(0)) {
        if (item->widget() != nullptr) {
            item->widget()->deleteLater();
        }
        delete item;
    }
    if (!m_estimate) {
        return;
    }
    for (const engine::FitChange& change : m_estimate->changes) {
        QString text;
        switch (change.kind) {
            case engine::FitChange::Kind::kContext:
                text = tr("Fits with a context of %1 tokens").arg(tokensText(change.request.context));
                break;
            case engine::FitChange::Kind::kVram:
                text = change.request.vram_bytes == 0
                           ? tr("Fits with all VRAM that is free")
                           : tr("Fits with %1 of VRAM").arg(bytesText(change.request.vram_bytes));
                break;
            case engine::FitChange::Kind::kRam:
                text = tr("Fits with %1 of RAM").arg(bytesText(change.request.ram_bytes));
                break;
            case engine::FitChange::Kind::kCpu:
                text = tr("Fits on the CPU");
                break;
        }
        auto* button = new QPushButton(text);
        button->setToolTip(tr("Choose this"));
        connect(button, &QPushButton::clicked, this, [this, request = change.request] { setRequest(request); });
        m_changes->addWidget(button);
    }
}

void FitView::setVerdict(const QString& text, Verdict verdict) {
    m_verdict->setText(text);
    m_shownVerdict = verdict;
    const Colours colours = Colours::of(palette());
    m_verdict->setStyleSheet(QStringLiteral("QLabel { background: %1; border-left: 3px solid %2; }")
                                 .arg((verdict == Verdict::Bad ? colours.problemSurface : colours.raised).name(),
                                      (verdict == Verdict::Good ? colours.accent : colours.problem).name()));
}

void FitView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        setVerdict(m_verdict->text(), m_shownVerdict);
    }
}

}  // namespace offstage::ui
