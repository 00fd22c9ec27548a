#include "ui/panels/what_if_panel.h"

#include <algorithm>

#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

#include "engine/error.h"
#include "ui/engine_controller.h"
#include "ui/format.h"
#include "ui/panels/profile_editor.h"
#include "ui/plot/bar_plot.h"
#include "ui/plot/line_plot.h"

namespace offstage::ui {

namespace {

constexpr quint64 kMore = quint64{1} << 30;  // "+1 GiB"

enum Column { Name, Vram, Speed, Ttft, Hits, Resident, Columns };

QTableWidgetItem* item(const QString& text, bool number = true) {
    auto* cell = new QTableWidgetItem(text);
    cell->setTextAlignment((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    cell->setToolTip(text);
    return cell;
}

QString speedText(double tokensPerSecond) {
    return QLocale().toString(tokensPerSecond, 'f', tokensPerSecond < 100 ? 1 : 0);
}

QString ttftText(double seconds) {
    return seconds < 0.01 ? WhatIfPanel::tr("%1 ms").arg(QLocale().toString(1e3 * seconds, 'f', 2))
                          : secondsText(seconds);
}

// All that is worked out for one press of the button; on the panel's own thread.
WhatIfResult workOut(const engine::LoadRequest& request, const QStringList& profiles, const QString& chosen,
                     quint64 budget, const engine::LoadProgressFn& progress, const std::stop_token& stop) {
    WhatIfResult result;
    try {
        const engine::WhatIf model(request, progress, stop);
        for (const QString& name : profiles) {
            if (stop.stop_requested()) {
                break;
            }
            const engine::HardwareProfile profile = engine::find_hardware_profile(name.toStdString());
            result.rows.push_back(model.on(profile));
            progress({WhatIfPanel::tr("Forecasts").toStdString(), result.rows.size(),
                      static_cast<std::uint64_t>(profiles.size())});
            if (name == chosen) {
                result.curve = model.curve(profile, WhatIfPanel::kCurvePoints, {}, stop);
                const quint64 at = budget > 0 ? budget : profile.memory_bytes - profile.reserved_bytes;
                result.now = model.on(profile, at);
                result.more = model.on(profile, at + kMore);
            }
        }
        result.cancelled = stop.stop_requested();
    } catch (const engine::Error& error) {
        result.cancelled = error.kind() == engine::ErrorKind::kCancelled;
        result.problem = QString::fromUtf8(error.what());
    } catch (const std::exception& error) {
        result.problem = QString::fromUtf8(error.what());
    }
    return result;
}

}  // namespace

WhatIfPanel::WhatIfPanel(EngineController& engine, QWidget* parent)
    : Panel(engine, parent),
      m_profile(new QComboBox),
      m_run(new QPushButton(tr("&Forecast"))),
      m_cancel(new QPushButton(tr("&Cancel"))),
      m_edit(new QPushButton(tr("&Edit a copy…"))),
      m_progress(new QProgressBar),
      m_table(new QTableWidget(0, Columns)),
      m_bars(new BarPlot),
      m_curve(new LinePlot),
      m_gain(new QLabel),
      m_there(new QObject) {
    setEmptyText(tr("Open a model to see how fast it would be on other hardware."));
    auto* claim =
        new QLabel(tr("Forecasts from datasheets and this computer's measured CPU, not measurements. Experts "
                      "count as they are in the checkpoint."));
    claim->setWordWrap(true);
    claim->setTextFormat(Qt::PlainText);
    claim->setForegroundRole(QPalette::PlaceholderText);
    m_profile->setAccessibleName(tr("GPU whose VRAM is varied"));
    m_profile->setToolTip(tr("The curve over VRAM is of this GPU"));
    m_profile->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_profile->setMinimumContentsLength(12);
    m_run->setToolTip(tr("Work it out. Measures this computer's CPU for up to three seconds first"));
    m_cancel->setToolTip(tr("Stop working it out"));
    m_edit->setToolTip(tr("Make a profile of your own from the chosen one"));
    m_progress->setAccessibleName(tr("Progress of the forecast"));
    m_gain->setWordWrap(true);
    m_gain->setTextFormat(Qt::PlainText);
    m_gain->setAccessibleName(tr("What more VRAM would bring"));

    m_table->setAccessibleName(tr("Forecasts by GPU"));
    m_table->setHorizontalHeaderLabels(
        {tr("GPU"), tr("VRAM"), tr("tokens/s"), tr("first token"), tr("hit rate"), tr("experts on it")});
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(fontMetrics().lineSpacing() + 6);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setTabKeyNavigation(false);
    m_table->setAlternatingRowColors(true);
    m_table->setShowGrid(false);
    m_table->setMinimumHeight(7 * fontMetrics().lineSpacing());
    for (int column = 0; column < Columns; ++column) {
        m_table->setColumnWidth(column, fontMetrics().averageCharWidth() * 11);
    }
    m_table->horizontalHeader()->setMinimumSectionSize(fontMetrics().averageCharWidth() * 8);
    m_table->horizontalHeader()->setSectionResizeMode(Name, QHeaderView::Stretch);
    m_bars->setAccessibleName(tr("Forecast tokens per second by GPU"));
    m_bars->setOrientation(Qt::Horizontal);
    m_bars->setValueAxis({tr("forecast"), Unit::TokensPerSecond});
    m_bars->setEmptyText(tr("Press Forecast to compare hardware."));
    m_bars->setFileName(QStringLiteral("what-if"));
    m_curve->setAccessibleName(tr("Forecast tokens per second over VRAM"));
    m_curve->setXAxis({tr("VRAM"), Unit::Bytes});
    m_curve->setYAxis({tr("forecast"), Unit::TokensPerSecond});
    m_curve->setEmptyText(tr("The speed over more and less VRAM."));
    m_curve->setFileName(QStringLiteral("what-if-vram"));
    m_curve->setMinimumHeight(160);

    auto* top = new QHBoxLayout;
    top->addWidget(m_profile, 1);
    top->addWidget(m_edit);
    top->addWidget(m_run);
    auto* running = new QHBoxLayout;
    running->addWidget(m_progress, 1);
    running->addWidget(m_cancel);
    body().addLayout(top);
    body().addLayout(running);
    body().addWidget(claim);
    body().addWidget(m_table, 2);
    body().addWidget(m_bars, 2);
    body().addWidget(m_gain);
    body().addWidget(m_curve, 2);

    m_there->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_there, &QObject::deleteLater);
    m_thread.setObjectName(QStringLiteral("what if"));
    m_thread.start();
    connect(m_run, &QPushButton::clicked, this, &WhatIfPanel::run);
    connect(m_cancel, &QPushButton::clicked, this, [this] { m_stop.request_stop(); });
    connect(m_edit, &QPushButton::clicked, this, &WhatIfPanel::edit);
    fillProfiles();
    modelChanged();
}

WhatIfPanel::~WhatIfPanel() {
    m_stop.request_stop();
    m_thread.quit();
    m_thread.wait();
}

QString WhatIfPanel::gainText() const {
    return m_gain->text();
}

void WhatIfPanel::fillProfiles() {
    const QString chosen = m_profile->currentData().toString();
    m_profile->clear();
    const auto add = [this](const QString& name) {
        try {
            const engine::HardwareProfile profile = engine::find_hardware_profile(name.toStdString());
            const QString shown = QString::fromStdString(profile.name);
            // Two profiles of one GPU differ in its host or its bus: their ids tell them apart.
            const int same = m_profile->findText(shown);
            if (same >= 0) {
                m_profile->setItemText(
                    same, tr("%1 (%2)").arg(shown, QFileInfo(m_profile->itemData(same).toString()).baseName()));
            }
            const bool taken = same >= 0 || m_profile->findText(shown + QStringLiteral(" ("), Qt::MatchStartsWith) >= 0;
            m_profile->addItem(taken ? tr("%1 (%2)").arg(shown, QFileInfo(name).baseName()) : shown, name);
        } catch (const engine::Error&) {
            // a file that is none: nothing to choose
        }
    };
    for (const std::string& id : engine::hardware_profile_ids()) {
        add(QString::fromStdString(id));
    }
    for (const QString& path : ProfileEditor::own()) {
        add(path);
    }
    m_profile->setCurrentIndex(std::max(0, m_profile->findData(chosen)));
}

void WhatIfPanel::modelChanged() {
    m_stop.request_stop();
    ++m_newest;
    m_running = false;
    setEmpty(!engine().model());
    m_table->setRowCount(0);
    m_bars->clear();
    m_curve->removeAllSeries();
    m_gain->clear();
    say({});
    if (engine().model() && engine().model()->emulated) {
        const QString device = QString::fromStdString(engine().loadRequest().device).section(u':', 1);
        const int index = m_profile->findData(device);
        if (index >= 0) {
            m_profile->setCurrentIndex(index);
        }
    }
    refreshButtons();
}

void WhatIfPanel::run() {
    if (m_running || !engine().model()) {
        return;
    }
    m_running = true;
    m_stop = std::stop_source();
    const quint64 id = ++m_newest;
    say({});
    m_progress->setRange(0, 0);
    QStringList profiles;
    for (int i = 0; i < m_profile->count(); ++i) {
        profiles << m_profile->itemData(i).toString();
    }
    const QString chosen = m_profile->currentData().toString();
    // Today's budget, where the chosen GPU is the one that runs.
    quint64 budget = 0;
    if (engine().model()->emulated && "emulated:" + chosen.toStdString() == engine().loadRequest().device) {
        const auto snapshot = engine().snapshot();
        budget = snapshot && snapshot->vram.budget > 0 ? snapshot->vram.budget : engine().model()->vram_budget_bytes;
    }
    engine::LoadRequest request = engine().loadRequest();
    request.context = engine().model()->context;
    const auto progress = [this, id](const engine::LoadProgress& p) {
        QMetaObject::invokeMethod(
            this,
            [this, id, p] {
                if (id == m_newest && p.bytes_total > 0) {
                    m_progress->setRange(0, static_cast<int>(p.bytes_total));
                    m_progress->setValue(static_cast<int>(p.bytes_done));
                    m_progress->setFormat(QString::fromStdString(p.stage));
                }
            },
            Qt::QueuedConnection);
    };
    // The destructor joins the thread: `this` is there while it works.
    QMetaObject::invokeMethod(
        m_there,
        [this, id, request, profiles, chosen, budget, progress, stop = m_stop.get_token()] {
            const WhatIfResult result = workOut(request, profiles, chosen, budget, progress, stop);
            QMetaObject::invokeMethod(
                this,
                [this, id, result] {
                    if (id == m_newest) {
                        showResult(result);
                    }
                },
                Qt::QueuedConnection);
        },
        Qt::QueuedConnection);
    refreshButtons();
}

void WhatIfPanel::showResult(const WhatIfResult& result) {
    m_running = false;
    refreshButtons();
    if (result.cancelled) {
        say(tr("Cancelled."));
        return;
    }
    if (!result.problem.isEmpty()) {
        say(result.problem, Notice::Problem);
        return;
    }
    m_table->setRowCount(static_cast<int>(result.rows.size()));
    QStringList names;
    std::vector<double> speeds;
    int row = 0;
    int emphasised = -1;
    for (const engine::WhatIfRow& r : result.rows) {
        const QString name = m_profile->itemText(row);  // asked for in the list's order
        m_table->setItem(row, Name, item(name, false));
        m_table->setItem(row, Vram, item(bytesText(r.vram_bytes)));
        if (r.failure.empty()) {
            m_table->setItem(row, Speed, item(speedText(r.tokens_per_s)));
            m_table->setItem(row, Ttft, item(ttftText(r.ttft_s)));
            m_table->setItem(row, Hits, item(percentText(r.hit_rate)));
            m_table->setItem(row, Resident, item(tr("%1 of %2").arg(r.resident).arg(r.total)));
            names << name;
            speeds.push_back(r.tokens_per_s);
            if (row == m_profile->currentIndex()) {
                emphasised = static_cast<int>(speeds.size()) - 1;
            }
        } else {
            m_table->setItem(row, Speed, item(tr("does not fit"), false));
            m_table->item(row, Speed)->setToolTip(QString::fromStdString(r.failure));
        }
        if (r.own_host) {
            m_table->item(row, Name)->setToolTip(tr("%1, with the CPU of its own profile").arg(name));
        }
        ++row;
    }
    m_bars->setGroups(names, {{tr("forecast tokens/s"), speeds, true}});
    m_bars->setEmphasised(emphasised);
    m_bars->setMinimumHeight(static_cast<int>(names.size()) * (fontMetrics().lineSpacing() + 4) + 50);

    m_curve->removeAllSeries();
    const int series = m_curve->addSeries(tr("forecast, %1").arg(m_profile->currentText()), LinePlot::Line::Dashed);
    std::vector<double> x, y;
    for (const engine::WhatIfRow& r : result.curve) {
        if (r.failure.empty()) {
            x.push_back(static_cast<double>(r.vram_bytes));
            y.push_back(r.tokens_per_s);
        }
    }
    m_curve->setPoints(series, x, y);
    if (result.now && result.more && result.now->failure.empty() && result.more->failure.empty()) {
        m_curve->setEvents({{static_cast<double>(result.now->vram_bytes), tr("budget")}});
        const double gain = result.more->tokens_per_s - result.now->tokens_per_s;
        m_gain->setText(gain < 0.05
                            ? tr("%1 with %2 of VRAM: 1 GiB more would change nothing (forecast).")
                                  .arg(m_profile->currentText(), bytesText(result.now->vram_bytes))
                            : tr("%1 with %2 of VRAM: 1 GiB more would bring %3 tokens/s, from %4 to %5 (forecast).")
                                  .arg(m_profile->currentText(), bytesText(result.now->vram_bytes), speedText(gain),
                                       speedText(result.now->tokens_per_s), speedText(result.more->tokens_per_s)));
    } else {
        m_curve->setEvents({});
        m_gain->setText(result.now ? QString::fromStdString(result.now->failure) : QString());
    }
}

void WhatIfPanel::edit() {
    try {
        const engine::HardwareProfile profile =
            engine::find_hardware_profile(m_profile->currentData().toString().toStdString());
        auto* editor = new ProfileEditor(profile, this);
        editor->setAttribute(Qt::WA_DeleteOnClose);
        connect(editor, &QDialog::accepted, this, [this, editor] {
            fillProfiles();
            m_profile->setCurrentIndex(std::max(0, m_profile->findData(editor->savedPath())));
        });
        editor->open();
    } catch (const engine::Error& error) {
        say(QString::fromUtf8(error.what()), Notice::Problem);
    }
}

void WhatIfPanel::refreshButtons() {
    m_run->setEnabled(!m_running && engine().model().has_value());
    m_progress->setVisible(m_running);
    m_cancel->setVisible(m_running);
}

}  // namespace offstage::ui
