#include "ui/window/drop_target.h"

#include <algorithm>

#include <QDir>
#include <QDropEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QRegularExpression>
#include <QUrl>

#include "ui/chat/attachment_file.h"
#include "ui/widgets/drop_hint.h"

namespace offstage::ui {

DropTarget::DropTarget(QWidget& window) : QObject(&window), m_window(window), m_hint(new DropHint(&window)) {
    window.setAcceptDrops(true);
    window.installEventFilter(this);
}

QString DropTarget::modelPathIn(const QMimeData* mime) {
    const QList<QUrl> urls = mime->urls();
    if (urls.isEmpty() || !urls.first().isLocalFile()) {
        return {};
    }
    const QString first = QDir::cleanPath(urls.first().toLocalFile());
    // Several files are a model where they are parts of one: NAME-00001-of-00003.gguf.
    static const QRegularExpression part(QStringLiteral("^(.*)-\\d{5}(-of-\\d{5}\\.gguf)$"),
                                         QRegularExpression::CaseInsensitiveOption);
    const auto whole = [](const QString& path) {
        const QRegularExpressionMatch match = part.match(path);
        return match.hasMatch() ? match.captured(1) + match.captured(2) : QString();
    };
    const bool isOne = std::all_of(urls.begin() + 1, urls.end(), [&](const QUrl& url) {
        return !whole(first).isEmpty() && whole(QDir::cleanPath(url.toLocalFile())) == whole(first);
    });
    return isOne ? first : QString();
}

bool DropTarget::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) {
        m_hint->setGeometry(m_window.rect());
    } else if (event->type() == QEvent::DragLeave) {
        m_hint->hide();
    } else if (event->type() == QEvent::DragEnter || event->type() == QEvent::Drop) {
        auto* drop = static_cast<QDropEvent*>(event);
        const QStringList files = attachablePathsIn(drop->mimeData());
        const QString model = modelPathIn(drop->mimeData());
        const bool isDrop = event->type() == QEvent::Drop;
        const bool known = !files.isEmpty() || !model.isEmpty();
        if (known) {
            drop->acceptProposedAction();
            m_hint->setText(files.isEmpty() ? tr("Drop to open %1").arg(QFileInfo(model).fileName())
                            : files.size() == 1
                                ? tr("Drop to attach %1").arg(QFileInfo(files.first()).fileName())
                                : tr("Drop to attach %n files", nullptr, static_cast<int>(files.size())));
            m_hint->raise();
        }
        m_hint->setVisible(known && !isDrop);
        if (isDrop && !files.isEmpty()) {
            Q_EMIT filesDropped(files);
        } else if (isDrop && known) {
            Q_EMIT modelDropped(model);
        }
    }
    return QObject::eventFilter(watched, event);
}

}  // namespace offstage::ui
