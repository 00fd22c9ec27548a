#include "ui/panels/picture_dialog.h"

#include <algorithm>

#include <QDialogButtonBox>
#include <QDir>
#include <QDockWidget>
#include <QListWidget>
#include <QPainter>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>

#include "ui/base/save_file.h"
#include "ui/base/settings.h"
#include "ui/plot/plot_widget.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

constexpr QSize kFullSize{1200, 675};
constexpr double kRatio = 2;
constexpr int kNarrowest = 560;  // for the texts
constexpr int kPictureMargin = 16;

QImage drawn(const OfferedPlot& offered, const QString& about) {
    const QImage plot = offered.plot->pictureOf(kFullSize, kRatio);
    QFont titleFont = offered.plot->font();
    titleFont.setBold(true);
    titleFont.setPointSizeF(titleFont.pointSizeF() * 1.3);
    const QFontMetrics title(titleFont), small(offered.plot->font());
    const QSize size = (QSizeF(plot.size()) / kRatio).toSize();
    const int texts = std::max(size.width(), kNarrowest);
    const int width = texts + 2 * kPictureMargin;
    const QRect aboutRect = small.boundingRect(QRect(0, 0, texts, 400), Qt::TextWordWrap, about);
    const int head = kPictureMargin + title.height() + 4 + aboutRect.height() + kPictureMargin / 2;
    QImage image((QSizeF(width, head + size.height() + kPictureMargin) * kRatio).toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(kRatio);
    const QPalette palette = offered.plot->palette();
    image.fill(palette.color(QPalette::Window));
    QPainter painter(&image);
    painter.setPen(palette.color(QPalette::WindowText));
    painter.setFont(titleFont);
    painter.drawText(kPictureMargin, kPictureMargin + title.ascent(),
                     title.elidedText(offered.title, Qt::ElideRight, texts));
    painter.setFont(offered.plot->font());
    painter.setPen(palette.color(QPalette::PlaceholderText));
    painter.drawText(QRect(kPictureMargin, kPictureMargin + title.height() + 4, texts, aboutRect.height()),
                     Qt::TextWordWrap, about);
    painter.drawImage(QPoint(kPictureMargin, head), plot);
    return image;
}

}  // namespace

QList<OfferedPlot> plotsOf(const QList<QDockWidget*>& docks) {
    QList<OfferedPlot> plots;
    for (const QDockWidget* dock : docks) {
        for (PlotWidget* plot : dock->findChildren<PlotWidget*>()) {
            if (plot->hasData()) {
                const QString name = plot->accessibleName();
                plots.append({plot, name.isEmpty() ? dock->windowTitle()
                                                   : PictureDialog::tr("%1: %2").arg(dock->windowTitle(), name)});
            }
        }
    }
    return plots;
}

QStringList savePlots(const QList<OfferedPlot>& plots, const QString& about, const QString& folder, QString* why) {
    static const QRegularExpression notAName(QStringLiteral("[^\\w-]+"),
                                             QRegularExpression::UseUnicodePropertiesOption);
    QStringList paths;
    for (const OfferedPlot& offered : plots) {
        QString name = offered.title;
        name.replace(notAName, QStringLiteral("-"));
        QString path = QDir(folder).filePath(name + QStringLiteral(".png"));
        for (int n = 2; paths.contains(path); ++n) {
            path = QDir(folder).filePath(QStringLiteral("%1-%2.png").arg(name).arg(n));
        }
        const QString failure = savePng(path, drawn(offered, about));
        if (failure.isEmpty()) {
            paths << path;
        } else if (why != nullptr) {
            *why = PictureDialog::tr("A picture could not be saved as %1: %2.").arg(path, failure);
        }
    }
    return paths;
}

PictureDialog::PictureDialog(QList<OfferedPlot> plots, const QString& about, QWidget* parent)
    : QDialog(parent), m_plots(std::move(plots)), m_about(about), m_list(new QListWidget) {
    setWindowTitle(tr("Pictures of plots"));
    m_list->setAccessibleName(tr("Plots to save"));
    for (const OfferedPlot& plot : m_plots) {
        auto* item = new QListWidgetItem(plot.title, m_list);
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        item->setCheckState(Qt::Checked);
    }
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    m_save = buttons->addButton(tr("Save in a folder…"), QDialogButtonBox::AcceptRole);
    auto* column = new QVBoxLayout(this);
    QLabel* hint = textLabel();
    hint->setText(m_plots.isEmpty() ? tr("No plot has anything to show yet: open a model and ask it something.")
                                    : tr("Each plot is saved as PNG with its title, model, hardware and plan. "
                                         "Conversations and prompts are in none of them."));
    column->addWidget(hint);
    column->addWidget(m_list);
    column->addWidget(buttons);
    resize(460, 420);
    connect(m_list, &QListWidget::itemChanged, this, [this] { m_save->setEnabled(!chosen().isEmpty()); });
    connect(m_save, &QPushButton::clicked, this, &PictureDialog::askWhere);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    m_save->setEnabled(!m_plots.isEmpty());
}

QList<OfferedPlot> PictureDialog::chosen() const {
    QList<OfferedPlot> plots;
    for (int row = 0; row < m_list->count(); ++row) {
        if (m_list->item(row)->checkState() == Qt::Checked) {
            plots << m_plots[row];
        }
    }
    return plots;
}

void PictureDialog::askWhere() {
    openFolderDialog(this, tr("Folder for the pictures"), settings::kLastExportFolder,
                     [this](const QString& folder) { saveIn(folder); });
}

void PictureDialog::saveIn(const QString& folder) {
    QString problem;
    const qsizetype n = savePlots(chosen(), m_about, folder, &problem).size();
    Q_EMIT saved(problem.isEmpty() ? tr("%n picture(s) saved in %1.", nullptr, static_cast<int>(n)).arg(folder)
                                   : problem);
    accept();
}

}  // namespace offstage::ui
