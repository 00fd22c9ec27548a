<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>History</name>
    <message numerus="yes">
        <source>A new one was begun with what could be read: %n message(s)</source>
        <translation>
            <numerusform>A new one was begun with what could be read: %n message</numerusform>
            <numerusform>A new one was begun with what could be read: %n messages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source> in %n conversation(s).</source>
        <translation>
            <numerusform> in %n conversation.</numerusform>
            <numerusform> in %n conversations.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::BudgetPanel</name>
    <message numerus="yes">
        <source>Now: simulated, %n token(s). The rest: forecast.</source>
        <translation>
            <numerusform>Now: simulated, %n token. The rest: forecast.</numerusform>
            <numerusform>Now: simulated, %n tokens. The rest: forecast.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Now: measured, %n token(s). The rest: forecast.</source>
        <translation>
            <numerusform>Now: measured, %n token. The rest: forecast.</numerusform>
            <numerusform>Now: measured, %n tokens. The rest: forecast.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationList</name>
    <message numerus="yes">
        <source>%n conversation(s) imported</source>
        <translation>
            <numerusform>%n conversation imported</numerusform>
            <numerusform>%n conversations imported</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationListModel</name>
    <message numerus="yes">
        <source>%1, closed folder, %n conversation(s)</source>
        <translation>
            <numerusform>%1, closed folder, %n conversation</numerusform>
            <numerusform>%1, closed folder, %n conversations</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1, folder, %n conversation(s)</source>
        <translation>
            <numerusform>%1, folder, %n conversation</numerusform>
            <numerusform>%1, folder, %n conversations</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::DeviceChoices</name>
    <message numerus="yes">
        <source>%n core(s), %1 RAM</source>
        <translation>
            <numerusform>%n core, %1 RAM</numerusform>
            <numerusform>%n cores, %1 RAM</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::DownloadsDialog</name>
    <message numerus="yes">
        <source>%n expert(s) would be read from the disk.</source>
        <translation>
            <numerusform>%n expert would be read from the disk.</numerusform>
            <numerusform>%n experts would be read from the disk.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::DraftAttachments</name>
    <message numerus="yes">
        <source>%n more files were not attached.</source>
        <translation>
            <numerusform>%n more file was not attached.</numerusform>
            <numerusform>%n more files were not attached.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::DropTarget</name>
    <message numerus="yes">
        <source>Drop to attach %n files</source>
        <translation>
            <numerusform>Drop to attach %n file</numerusform>
            <numerusform>Drop to attach %n files</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertsPanel</name>
    <message numerus="yes">
        <source>Marked: %1, %2: %n expert(s)</source>
        <comment>layers, experts</comment>
        <translation>
            <numerusform>Marked: %1, %2: %n expert</numerusform>
            <numerusform>Marked: %1, %2: %n experts</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Selected; underlined in the chat: %n place(s)</source>
        <translation>
            <numerusform>Selected; underlined in the chat: %n place</numerusform>
            <numerusform>Selected; underlined in the chat: %n places</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::HelpDialog</name>
    <message numerus="yes">
        <source>%n page(s) found</source>
        <translation>
            <numerusform>%n page found</numerusform>
            <numerusform>%n pages found</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::LocalModels</name>
    <message numerus="yes">
        <source>%n other model(s) are no Mixture-of-Experts models.</source>
        <translation>
            <numerusform>%n other model is no Mixture-of-Experts model.</numerusform>
            <numerusform>%n other models are no Mixture-of-Experts models.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::LogPanel</name>
    <message numerus="yes">
        <source>%n outbound connection(s)</source>
        <translation>
            <numerusform>%n outbound connection</numerusform>
            <numerusform>%n outbound connections</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::MachineTexts</name>
    <message numerus="yes">
        <source>Lost since it was joined: %n time(s).</source>
        <translation>
            <numerusform>Lost since it was joined: %n time.</numerusform>
            <numerusform>Lost since it was joined: %n times.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::MemoryPage</name>
    <message numerus="yes">
        <source>Kept at the moment: %1 tokens of %n conversation(s).</source>
        <translation>
            <numerusform>Kept at the moment: %1 tokens of %n conversation.</numerusform>
            <numerusform>Kept at the moment: %1 tokens of %n conversations.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::ModelOpener</name>
    <message numerus="yes">
        <source>%n download(s) can be resumed: File › What runs here › Downloads</source>
        <translation>
            <numerusform>%n download can be resumed: File › What runs here › Downloads</numerusform>
            <numerusform>%n downloads can be resumed: File › What runs here › Downloads</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n model(s) are still being downloaded.</source>
        <translation>
            <numerusform>%n model is still being downloaded.</numerusform>
            <numerusform>%n models are still being downloaded.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::PersonaBar</name>
    <message numerus="yes">
        <source>%n persona(s) imported</source>
        <translation>
            <numerusform>%n persona imported</numerusform>
            <numerusform>%n personas imported</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::PictureDialog</name>
    <message numerus="yes">
        <source>%n picture(s) saved in %1.</source>
        <translation>
            <numerusform>%n picture saved in %1.</numerusform>
            <numerusform>%n pictures saved in %1.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::SuggestionsDialog</name>
    <message numerus="yes">
        <source>%n model(s) have room whose speed was not measured yet</source>
        <translation>
            <numerusform>%n model has room whose speed was not measured yet</numerusform>
            <numerusform>%n models have room whose speed was not measured yet</numerusform>
        </translation>
    </message>
</context>
</TS>
