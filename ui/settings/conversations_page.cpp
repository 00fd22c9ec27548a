#include "ui/settings/conversations_page.h"

#include <QCheckBox>

#include "ui/base/settings.h"
#include "ui/widgets/boxes.h"
#include "ui/widgets/labels.h"

namespace offstage::ui {

ConversationsPage::ConversationsPage(QWidget* parent) : QWidget(parent) {
    const auto choice = [](const Setting<bool>& setting, const QString& text, const QString& explanation) {
        auto* box = new QCheckBox(text);
        box->setChecked(setting.value());
        box->setAccessibleDescription(explanation);
        connect(box, &QCheckBox::toggled, box, [&setting](bool on) { setting.set(on); });
        auto* label = mutedLabel();
        label->setText(explanation);
        return columnOf({box, rowOf({Gap{24}, {label, 1}}, flush(0))}, apart(4));
    };
    columnOf(this,
             {choice(settings::kReopensLast, tr("&Show the last conversation at the start"),
                     tr("Without it the program begins with a new conversation. The list has the others.")),
              Gap{10},
              choice(settings::kModelTitles, tr("Let the model write the &titles"),
                     tr("After the first answer, in a few words and seconds. Your next message comes first. A title "
                        "that you have typed stays. The demo model writes none.")),
              Stretch{1}},
             flush());
}

}  // namespace offstage::ui
