<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>Format</name>
    <message>
        <source>%1 ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 B</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 M</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>CPU · 1 thread</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>CPU · %1 threads</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 layers × %2 experts, %3 active</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>first token %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 in</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> (%1 reused)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>, %1 out</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Sampling</name>
    <message>
        <source>Precise</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Always the most probable word: the same answer every time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A little variety, few surprises</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Creative</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>More variety; very improbable words stay out</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>main</name>
    <message>
        <source>Cannot write the picture %1.
</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Chat with Mixture-of-Experts models that do not fit into the GPU&apos;s memory.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Folder or file of a model; without it, the demo model.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Send this as soon as the model is ready.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Colours: system, light or dark.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Wait for the answer, save a picture of the window to FILE, and quit.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Size of the window, for example 1280x800.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ChatController</name>
    <message>
        <source>Waiting for the model to load…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reading the prompt…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ended at the limit of %1 tokens (Sampling panel)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The context is full: begin a new conversation, or ask for something shorter</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not answered</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This prompt cannot be answered</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The answer could not be written</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not complete</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The answer ended early</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ChatPage</name>
    <message>
        <source>What shall we talk about?</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 · %2 · %3 weights, %4 per token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Raising the curtain…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The model is loading. You can write your message already.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No model is open</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the folder of a Mixture-of-Experts model, or drop it on this window.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::CommandPalette</name>
    <message>
        <source>Commands</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Type a command</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Command to look for</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Commands found</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No command is called so.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ContextMeter</name>
    <message>
        <source>Context used: %1 tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens of this conversation in the model&apos;s context: %1</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationModel</name>
    <message>
        <source>You</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationView</name>
    <message>
        <source>Conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Go to the latest message</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::DeviceChoices</name>
    <message numerus="yes">
        <source>%n core(s), %1 RAM</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform></numerusform>
        </translation>
    </message>
    <message>
        <source>%1, %2 free</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>; %1 (%2)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>; no GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>; no GPU (%1)</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::EmptyState</name>
    <message>
        <source>Open model…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open a model</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::EngineWorker</name>
    <message>
        <source>There is not enough free memory for this.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Something unexpected happened inside the engine.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Loading was cancelled.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertsPanel</name>
    <message>
        <source>Last %1 tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which tokens are counted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which tokens are counted: prompt and answer, the latest ones or all of the conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Show</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>layers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>When the model reads or writes, this shows which experts its router calls.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Expert heat map</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of tokens that the router sent to each expert, by layer. Arrow keys move from cell to cell.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Numbers of the chosen expert</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>even use:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of the last %1 tokens sent to each expert.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of all %1 tokens sent to each expert.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Point at a cell for its numbers.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1, expert %2
%3 of %4 tokens: %5 of this layer&apos;s tokens
Even use would be %6</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::HeatMapLegend</name>
    <message>
        <source>Colour scale: from 0 to %1; %2 %3</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::InputBar</name>
    <message>
        <source>Enter sends · Shift+Enter begins a new line</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The model is loading. Write on: your message is sent as soon as it is ready</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Your message waits for the model. Esc takes it back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No model is open: open one (Ctrl+O), or drop its folder on this window</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answering · Esc stops</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Take the message back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Send</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write something to send</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> (Esc)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> (Enter)</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::LoadBanner</name>
    <message>
        <source>Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Loading a model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Progress of loading</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancel loading</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Opening %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> · %1 of %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::MainWindow</name>
    <message>
        <source>Offstage</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the folder of a model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Loading “%1” was cancelled</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>“%1” could not be opened</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No model is open now.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Loading…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 – Offstage</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Drop to open %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;New conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Open model…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop the answer (Esc)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy the whole con&amp;versation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ctrl+Shift+C</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Recent models</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ctrl+Q</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>As the &amp;system</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Dark</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Reset layout</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;About Offstage</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Main tool bar</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hardware</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Where the model runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Experts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide the expert heat map</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide the sampler&apos;s settings</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Demo model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 (missing)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Clear the list</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>About Offstage</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Offstage %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Chat with Mixture-of-Experts models that do not fit into the GPU&apos;s memory, and see which experts are called. Everything runs on this computer; nothing is sent anywhere.

Apache License 2.0. Uses Qt %1 (LGPL) and cmark-gfm (BSD).</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageBody</name>
    <message>
        <source>Copy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy this code</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy the whole &amp;message</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy the &amp;link</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Select &amp;all</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageWidget</name>
    <message>
        <source>Copy the whole message</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Your message</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Offstage</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answer</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ProblemCard</name>
    <message>
        <source>Open another model…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Back to the previous model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the demo model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Edit the prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Try again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Details of the problem</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Details</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show the details of the problem</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::PromptEdit</name>
    <message>
        <source>Write a message</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Message</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Enter sends, Shift and Enter begins a new line</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::QuietDocument</name>
    <message>
        <source> – picture not loaded]</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::SamplingPanel</name>
    <message>
        <source>0 · always the most probable</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>off</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>no limit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>a new one for each answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Own settings</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Preset</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A good set of values to begin with</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Temperature</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How adventurous: 0 always takes the most probable word, 1 takes words as often as the model believes in them</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Top-&amp;k</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Only this many of the most probable words are considered</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Only the most probable words that together have this probability are considered; 1 considers all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Min-p</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Words less probable than this share of the most probable word are left out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Repetition penalty</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Makes words that were just used less probable; 1 does nothing, much more than 1.2 hurts the language</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Penalty looks &amp;back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How many of the latest tokens count as just used</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Seed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The same seed, prompt and settings give the same answer; empty or 0: a new seed each time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Longest answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>An answer ends after this many tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reset to Balanced</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Your own mixture</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::StatusLine</name>
    <message>
        <source>What the engine does</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Speed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens written per second, after the first token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Loading the model…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ready</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reading the prompt…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Writing</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
</context>
</TS>
