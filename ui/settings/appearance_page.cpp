#include "ui/settings/appearance_page.h"

#include <algorithm>

#include <QApplication>
#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QSpinBox>

#include "ui/base/language.h"
#include "ui/settings/appearance.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/fields.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

namespace {

// Points above the system's text size, shown and typed in percent of that.
class PercentBox : public QSpinBox {
  public:
    explicit PercentBox(double systemPoints) : m_systemPoints(systemPoints) {
        setRange(kTextSmallest, kTextLargest);
        setSuffix(QStringLiteral(" %"));
        setKeyboardTracking(false);
    }

  protected:
    QString textFromValue(int steps) const override { return QString::number(percentOf(steps)); }
    int valueFromText(const QString& text) const override {
        const double points = m_systemPoints * QString(text).remove(suffix()).toInt() / 100 - m_systemPoints;
        return std::clamp(qRound(points), minimum(), maximum());
    }
    QValidator::State validate(QString& text, int&) const override {
        bool isNumber = false;
        const int percent = QString(text).remove(suffix()).trimmed().toInt(&isNumber);
        return isNumber && percent >= percentOf(minimum()) && percent <= percentOf(maximum()) ? QValidator::Acceptable
               : isNumber || QString(text).remove(suffix()).trimmed().isEmpty()               ? QValidator::Intermediate
                                                                                              : QValidator::Invalid;
    }

  private:
    int percentOf(int steps) const { return qRound(100 * (m_systemPoints + steps) / m_systemPoints); }

    double m_systemPoints;
};

}  // namespace

AppearancePage::AppearancePage(Appearance& appearance, QWidget* parent)
    : QWidget(parent),
      m_appearance(appearance),
      m_theme(new QComboBox),
      m_textSize(new PercentBox(QApplication::font().pointSizeF() - appearance.textSize())),
      m_language(new QComboBox) {
    m_theme->addItem(tr("As the system"), static_cast<int>(Theme::System));
    m_theme->addItem(tr("Light"), static_cast<int>(Theme::Light));
    m_theme->addItem(tr("Dark"), static_cast<int>(Theme::Dark));
    m_language->addItem(tr("As the system"), QString());
    for (const Language& language : languages()) {
        m_language->addItem(language.name, language.code);
    }
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
    form->setHorizontalSpacing(16);
    form->setVerticalSpacing(10);
    const auto add = [form](const QString& text, QWidget* field, const QString& tip) {
        auto* label = labelOf(field, text);
        field->setAccessibleName(QString(text).remove(u'&'));
        field->setAccessibleDescription(tip);
        field->setToolTip(tip);
        form->addRow(label, field);
        if (!tip.isEmpty()) {
            QLabel* said = mutedLabel();
            said->setText(tip);
            QSizePolicy wide = said->sizePolicy();
            wide.setHorizontalPolicy(QSizePolicy::Expanding);  // the fields do not grow
            said->setSizePolicy(wide);
            form->addRow(QString(), said);
        }
    };
    add(tr("T&heme"), m_theme, {});
    add(tr("Te&xt size"), m_textSize, tr("100 % is the system's text size."));
    add(tr("&Language"), m_language, tr("The language changes when Offstage starts again."));
    columnOf(this, {form, Stretch{1}}, flush());

    connect(m_theme, &QComboBox::activated, this,
            [this] { m_appearance.setTheme(static_cast<Theme>(m_theme->currentData().toInt())); });
    connect(m_textSize, &QSpinBox::valueChanged, &m_appearance, &Appearance::setTextSize);
    connect(m_language, &QComboBox::activated, this,
            [this] { m_appearance.setLanguage(m_language->currentData().toString()); });
    connect(&m_appearance, &Appearance::changed, this, &AppearancePage::refresh);
    refresh();
}

void AppearancePage::refresh() {
    m_theme->setCurrentIndex(m_theme->findData(static_cast<int>(m_appearance.theme())));
    const QSignalBlocker quiet(m_textSize);
    m_textSize->setValue(m_appearance.textSize());
    m_language->setCurrentIndex(std::max(0, m_language->findData(m_appearance.language())));
}

}  // namespace offstage::ui
