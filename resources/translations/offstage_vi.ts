<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="vi" sourcelanguage="en">
<context>
    <name>Axis</name>
    <message>
        <source>TB</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>GB</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>MB</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>kB</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>B</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>µs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <comment>what an axis measures, and its unit</comment>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>BenchmarkExport</name>
    <message>
        <source>run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>in</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>TTFT ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Benchmark of %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>date</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>program</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>computer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1, %2 cores, %3 RAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>timing</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the device is emulated: its times are worked out, not measured</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>budgets</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>ITL</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>each decode step of the engine, by the device&apos;s clock</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Scenarios</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Two plans on one prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>B: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The results could not be saved as %1: %2.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A picture could not be saved as %1.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>BudgetSetting</name>
    <message>
        <source>VRAM %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>RAM %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>context %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>all experts in %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>at least %1 bits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>loss at most %1</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>EventLog</name>
    <message>
        <source>Re-plan %1 is in force: %2 of %3 copies, %4 moved in %5; %6 experts on the device, %7 bits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Re-plan %1 was cancelled</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Re-plan %1 gave way to a later one</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Re-plan %1 could not be carried out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>re-plan</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>decision</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>note</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>problem</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>connection</source>
        <translation type="unfinished"></translation>
    </message>
</context>
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
    <message>
        <source>32 bit (F32)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>16 bit (F16)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>16 bit (BF16)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>8 bit (INT8)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>4 bit (HQQ)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>3 bit (HQQ)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>2 bit (HQQ)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 (emulated) · %2 VRAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 · %2 VRAM</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MemoryRow</name>
    <message>
        <source>dense weights</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts, %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>room for experts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>KV cache</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>staging</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>workspace</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>other programs</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Presets</name>
    <message>
        <source>Concise</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answer in as few words as the question allows.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Teacher</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Explain step by step, with one example for each step, and end with a question that checks what was understood.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Programmer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answer with code first, and then only what the code does not say. Name what could go wrong.</source>
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
    <message>
        <source>Where the model runs: cpu, cuda, cuda:N or emulated:PROFILE, for example emulated:rtx-3060.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Budget of GPU memory, for example 8GiB.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Language of the window: en, de or vi.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::BarPlot</name>
    <message>
        <source>from %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1
%2, %3 of all</source>
        <comment>bin; count, share</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>series and value</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>from</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>to</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkPanel</name>
    <message>
        <source>&amp;Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Pictures…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open a model to measure its answers, to run scenarios and to compare plans.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Answers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>S&amp;cenario</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Two p&amp;lans</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Progress of the benchmark</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop the run; a plan that was changed for it is put back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save all results with hardware, model, plan, budgets and seed, as CSV, JSON or Markdown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save a picture of each panel as PNG</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answers of this session</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time from one token to the next</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How many of the engine&apos;s decode steps took how long</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ask something: each answer is measured, and this shows how evenly its tokens came.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens of the prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>About so many: words are counted, and the table shows what it was</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens of the answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>At most so many</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Repeats</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How often it is run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Seed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Of words and sampling, also for the comparison of two plans</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Run it through the loaded model; the conversation stays as it is</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pro&amp;mpt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ans&amp;wer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Repea&amp;ts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>See&amp;d</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Scenario runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Prompt for both plans</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens of the answers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>At most so many, for both plans</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Compare</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Plan A is what is in force. It answers, then plan B does, then plan A is put back. Both use the same seed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>At m&amp;ost</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Plan B (plan A is as it is now)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>One token: there is no time between tokens.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>ITL of %1 decode steps, by the device&apos;s clock: p50 %2 ms, p95 %3 ms, p99 %4 ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>from one token to the next</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>p50</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>p95</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1, plan %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>B</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Plan A</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Plan B</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Budgets</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>First token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>ITL p95</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mean bits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>(the same)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save the results</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>JSON (*.json)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>CSV (*.csv)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Saved as %1.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Folder for the pictures</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkRunner</name>
    <message>
        <source>The run was interrupted.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Another model was opened; the run has ended.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Run %1 of %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Plan A answers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Going to plan B</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Plan B answers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Going back to plan A</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The engine is busy; try again when the answer is written.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This engine cannot be re-planned now.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The plan before could not be put back: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 in, %2 out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>plan A</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>plan B</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::BenchmarkTable</name>
    <message>
        <source>%1
%2
%3, %4 bits on average, seed %5</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>in</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>TTFT ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>p50 ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>p95 ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>p99 ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The answer, or the scenario</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens of the prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens of the answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time to the first token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Decode, after the first token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time from one token to the next, median of the engine&apos;s decode steps</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>95 of 100 steps take no longer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>99 of 100 steps take no longer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Expert calls that found their expert on the accelerator</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Weights copied to the accelerator</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::BudgetForm</name>
    <message>
        <source>VRAM budget</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>RAM budget</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Context in tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory of the accelerator that Offstage may take, for everything: dense weights, experts, KV cache and workspace</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory of this computer that Offstage may take. Experts that find no room in it are read from disk when they are called</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens that a conversation can hold. Its KV cache takes room that experts could have</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Quality of the experts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Experts in fewer bits are smaller and faster, and say less exactly what the model was trained to say. Nothing of this changes unless you choose it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>As in the checkpoint</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mean bits, at least</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Predicted loss, at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All experts in %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;VRAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;RAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Conte&amp;xt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Quality</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The model runs on the CPU, which has no memory of its own. RAM and context count.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mean bits per expert weight, at least</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> bits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Predicted loss in percent, at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> %</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::BudgetPanel</name>
    <message>
        <source>none</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Apply</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Re&amp;set</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open a model to see what its memory is spent on, and to change its budgets.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What memory is spent on</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>VRAM and RAM, each divided into what holds it. Arrow keys move from part to part.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Why this cannot be applied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Move a slider to see what it would change. Nothing happens before Apply.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Carry this out in the background; the conversation goes on meanwhile</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Go back to the budgets before</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Put the sliders back to what is in force</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop moving experts and go back to the plan before</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Progress of the re-plan</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1, now</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1, after</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>now</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>after</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Forecast of both plans, worked out alike from measured costs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>First token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Forecast time to the first token of a prompt of 512 tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of expert calls that find their expert on the accelerator</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mean bits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Per expert weight</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Predicted loss</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Squared relative error of the experts&apos; weights, weighed by how often each is used</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Experts on the device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Of all experts of all layers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What has to be moved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>VRAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>RAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This engine cannot be re-planned now.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Working it out…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing has to be moved.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 to move, about %2.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Waiting for the end of a step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 of %2 copies, %3 of %4</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>In force: nothing had to be moved.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>In force: %1 moved in %2.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 experts on the device, %2 bits on average.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancelled: the plan before is in force again. %1 of %2 copies had been made.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Another change took its place.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The change could not be made; the plan before is in force.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Go back to the budgets before; there are none yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Go back to %1</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::CacheComparison</name>
    <message>
        <source>LRU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>LFU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Segmented LRU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Popularity, fixed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>LRU in each layer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No cache</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Best possible</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::CachePanel</name>
    <message>
        <source>Layer whose hit rate is shown beside that of all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Each token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mean of %1 tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Over how many tokens lines are averaged</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>all layers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hit rate over time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of (token, expert) pairs that found their expert on the device. A click selects the token.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>prefetch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>recall</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>precision</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Prefetch recall and precision over time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Recall: of the calls whose expert had no place on the device, those that a guess had brought in time.
Precision: of the experts copied on a guess, those that were called.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>copied per token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Bytes moved per token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Bytes of weights that were copied to the device, by each token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>exchanged per token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts exchanged per token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Experts exchanged per token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Experts that were admitted to the device, each in the place of one that was evicted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write a prompt to see how many calls find their expert on the device.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write a prompt to see how good the guesses are.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write a prompt to see how much is copied.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write a prompt to see how many experts are exchanged.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Sums since the model was loaded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open a model and write a prompt to see how well its cache of experts works.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Other policies on the same calls</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Experts in the cache</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Experts in the cache</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How many experts each policy may keep; at first as many as are on the device now</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Replays the recorded calls under each policy, without running the model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Progress of the comparison</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What was compared</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hit rate by cache policy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Policy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copies</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of calls that found their expert on the device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The same of answers alone, without prompts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Experts copied to the device, per token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cache policies compared</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All layers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All, and layer %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no accelerator whose memory would be a cache for experts. What a cache would do can be tried below.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Since loading: hit rate %1; %2 copied; %3 experts exchanged</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 of %2 guesses used</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>no expert was copied on a guess</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Co&amp;mpare policies</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>LRU, LFU and others, beside the best that is possible, on the calls of this model that were recorded.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write a prompt first: policies are compared on its recorded calls.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No step is recorded whole; write a prompt and try again.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Replaying %1 steps …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 of %2 experts in the cache, %3 steps replayed; each policy begins with the experts planned for.</source>
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
    <message>
        <source>Number %1 in the queue</source>
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
    <name>offstage::ui::ConversationList</name>
    <message>
        <source>Search all conversations</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Archive</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show the archived conversations</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undo</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Close this notice</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answering…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Number %1 in the queue</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing was found.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No conversation is archived.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Your conversations will be listed here.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Un&amp;pin</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Pin</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Take out of the &amp;archive</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Archive</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Export…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;New conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Import…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>“%1” was deleted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>JSON: the whole conversation (*.json)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Markdown: as it is shown (*.md)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Import conversations</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Conversations (*.json)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>There is nothing to export.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Saved as %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n conversation(s) imported</source>
        <translation type="unfinished">
            <numerusform></numerusform>
        </translation>
    </message>
</context>
<context>
    <name>offstage::ui::ConversationListModel</name>
    <message>
        <source>New conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pinned · %1</source>
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
    <name>offstage::ui::DispatchPanel</name>
    <message>
        <source>Previous token of the answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Next token of the answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The token that is shown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mean of the last %1 tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which tokens the bars are of</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which tokens the bars are of: the one that is shown, or the mean of the latest</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What the bars measure</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time: how long each side worked on the layer, all at once; beneath it what was predicted.
Tokens: how many calls of experts each side served.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Where each layer&apos;s experts ran</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>dispatch by layer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Timeline of one token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>token timeline</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Durations are the device&apos;s; where a side begins within its layer is not known.
Outlines are what was predicted. Wheel or + and - zoom, a click says why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Why experts ran where they ran</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write a prompt to see where the experts of each layer run, and why.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Token %1 of %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Latest token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>with the prompt&apos;s last %1 tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>no longer kept, for want of memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>not written down yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Click a bar to read why its experts ran there: both costs of the choice.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>copy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>CPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 experts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>expert %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Expert %1 (%2)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>one token, %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 tokens, %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 was computed on the CPU: there is no accelerator to choose.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 had been brought to the device ahead, on a guess: %2 to compute there, against %3 on the CPU.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 was on the device: %2 to compute there, against %3 on the CPU.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 lay %2 and was brought to the device: %3 to copy and %4 to compute there, against %5 on the CPU.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The policy “transfer” copies whatever is missing.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Alone the CPU would be faster; beside its other work in this layer it is not.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 lay %2 and was computed on the CPU: %3, against %4 to copy it and %5 to compute on the device.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The policy “static” computes whatever is missing on the CPU.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Alone the copy would be faster; side by side with the rest of the layer it is not.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>resident on the GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>copying</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>predicted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>attention and router</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts on the GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts on the CPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>layer %1: attention and router</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>layer %1: </source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>by the emulated device&apos;s clock</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>measured</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1: %2 %3.</source>
        <comment>layer, time, how it is known</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1, %2: %3 %4, %5 predicted. Policy: %6.</source>
        <comment>layer, side, time, how it is known, time, name</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1: %2 %3, %4 predicted. Policy: %5.</source>
        <comment>layer, time, how it is known, time, name</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which experts these were is no longer known.</source>
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
    <name>offstage::ui::EventLog</name>
    <message>
        <source>Connection to %1: %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Loading %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 is loaded in %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>device %1, %2 of %3 experts on it, context %4</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Re-plan %1 was asked for</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Kind</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What happened</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertActions</name>
    <message>
        <source>&amp;Unpin</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The cache may take its place on the device again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Pin to the device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Brings it to the device and keeps it there, whatever the cache says</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Evict from the device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Lets it go; it stays in RAM or on disk</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>P&amp;recision</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;%1 bit</source>
        <comment>precision of an expert</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pinning layer %1, expert %2 …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is pinned to the device.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Unpinning layer %1, expert %2 …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is no longer pinned.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Taking layer %1, expert %2 off the device …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1, expert %2 has left the device.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Changing layer %1, expert %2 to %3 bit …</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1, expert %2 is kept in %3 bit.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Experts cannot be changed at the moment: no model is loaded.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The change was cancelled; everything is as before.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A later change took the place of this one.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The change could not be made.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ExpertsPanel</name>
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
        <source>Numbers of the chosen expert</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>even use:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Point at a cell for its numbers.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 steps ago:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>on the device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>G</source>
        <comment>glyph: on the GPU</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>on the device, pinned</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>P</source>
        <comment>glyph: pinned</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>in RAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>R</source>
        <comment>glyph: in RAM</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>on disk</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>D</source>
        <comment>glyph: on disk</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>all experts:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Frequency: last %1 tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Frequency: conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Frequency: planned</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Recency</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Residency</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Precision</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of the latest tokens, prompt and answer, that the router sent to each expert.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of all tokens of this conversation that the router sent to each expert.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of tokens that the placement of experts was planned with.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How long ago each expert was called: 100 % in the last step, 0 % not within %1 steps.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The fastest memory that holds a copy of each expert.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The number format in which each expert is kept.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of each expert&apos;s tokens, since the model was loaded, that found it on the device.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layer %1, expert %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>pinned</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 of %2 tokens: %3 of this layer&apos;s tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Even use would be %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>planned: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Planned: %1 of this layer&apos;s tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not called since the model was loaded</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens since loading: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>hit rate %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>called in the last step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>called one step before the last</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>called %1 steps before the last</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Fade the idle</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What is shown of each expert</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Shows experts that were not called lately in a faint colour</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fade experts that were not called lately</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Layers by experts. Arrow keys move from cell to cell, Return selects an expert, the menu key changes it.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>C&amp;hange</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pin, evict or change the precision of the selected expert</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Change the selected expert</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open a model to see its experts.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The experts were placed without knowing how popular they are.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>legend: kind of experts, how many</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The model runs on the CPU: there is no accelerator to bring experts to.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ringed: the experts that the selected token called.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The selected token was written by the step that read the prompt, all its tokens at once: which of them called which expert is not known.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Selected; no token in the chat called it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Selected; underlined in the chat: %1 places</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::FindBar</name>
    <message>
        <source>Find in this conversation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Previous hit (Shift+Enter)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Next hit (Enter)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not found</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 / %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hit %1 of %2</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::FitView</name>
    <message>
        <source>VRAM budget</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>RAM budget</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Context in tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What the model would take of each memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Choose a model to see what it would take.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Whether the model fits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What computes the attention and the experts that find room on it. Emulated devices take a part of this computer&apos;s memory and work out the time that the real one would take</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory of the device that Offstage may take</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory of this computer that Offstage may take</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens that a conversation can hold</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>all there is</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>what is free</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the model&apos;s own</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Format of the experts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fewer bits take less memory and are read faster, and say less exactly what the model was trained to say</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>As in the checkpoint</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mean bits, at least</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Predicted loss, at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All experts in %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cache policy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which experts that were copied on demand stay on the device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;VRAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;RAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Conte&amp;xt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Experts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cac&amp;he</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>emulated: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The CPU has no memory of its own: RAM counts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mean bits per expert weight, at least</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> bits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Predicted loss in percent, at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> %</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No model is chosen yet.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>VRAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>RAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Does not fit: %1 of %2 are missing.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Does not fit.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fits: %1 of %2 experts in RAM, %3 tokens of context.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fits: %1 of %2 experts on the device, %3 tokens of context. About %4 of the expert calls will find theirs there.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 experts stay on disk and are read when they are called.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The formats are chosen once their cost has been measured; until then the smallest allowed one is counted.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The device is emulated: its memory is part of this computer&apos;s RAM, and its times are worked out, not measured.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fits with a context of %1 tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fits with all VRAM that is free</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fits with %1 of VRAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fits with %1 of RAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fits on the CPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Choose this</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::FitWorker</name>
    <message>
        <source>The model could not be looked at.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::HeatMap</name>
    <message>
        <source>%1 %2, %3 %4: %5</source>
        <comment>heat map cell: title of rows, row, title of columns, column, value</comment>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::HeatMapLegend</name>
    <message>
        <source>Colour scale: from 0 to %1; %2 %3</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Colours: %1</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::History</name>
    <message>
        <source>Conversations are not saved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The folder %1 cannot be made.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The chat history is damaged.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The chat history was damaged</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>A new one was begun with what could be read: %n message(s)</source>
        <translation type="unfinished">
            <numerusform></numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source> in %n conversation(s).</source>
        <translation type="unfinished">
            <numerusform></numerusform>
        </translation>
    </message>
    <message>
        <source>The damaged file is kept as %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The conversation could not be saved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>It is kept in memory, and saving is tried again every second.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Offstage was closed while this was being written</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The chat history could not be searched</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>“%1” cannot be opened</source>
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
    <name>offstage::ui::LinePlot</name>
    <message>
        <source>%1: %2</source>
        <comment>series and value</comment>
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
    <name>offstage::ui::LogPanel</name>
    <message>
        <source>&amp;Save…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Kind of events</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show events of one kind only</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All events</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search in the log</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show events that hold all of these words</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save what is shown, as text or as JSON</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Events</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The chosen event</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No outbound connections</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n outbound connection(s)</source>
        <translation type="unfinished">
            <numerusform></numerusform>
        </translation>
    </message>
    <message>
        <source>%1 of %2 events</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 older ones were let go</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The log could not be saved as %1: %2.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save the log</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Text (*.txt)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>JSON (*.json)</source>
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
    <message>
        <source>A picture of each panel is in %1.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide the conversations</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cache</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide hit rates and copies</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Dispatch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide what CPU, copies and GPU do in each layer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Budget</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide the memory budgets</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What if</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide forecasts for other hardware</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Benchmark</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide what answers took</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Log</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide what happened</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide system prompt and sampling</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This computer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Emulated GPU (times are accounted)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Try a small emulated GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>16 MiB of GPU memory: the demo model does not fit, and experts come and go</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Where the model runs. Found here: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open with o&amp;ptions…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ctrl+Shift+O</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Find in this conversation…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Command palette…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ctrl+K</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>As the s&amp;ystem</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The language changes when Offstage starts again.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Hardware</source>
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
    <message>
        <source>&amp;Pick this token</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::MessageEditor</name>
    <message>
        <source>Send as a new branch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Leave</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Edit your message</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ctrl+Enter sends it as a new branch, Esc leaves it as it was</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ctrl+Enter</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Leave the message as it was</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Esc</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What was there stays, as a branch of its own.</source>
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
    <message>
        <source>Figures of this answer: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1
Click for the timeline of its tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Edit this message: a new branch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answer again: a new branch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Continue this answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The branch before</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The next branch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1/%2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Branch %1 of %2</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::OpenModelDialog</name>
    <message>
        <source>&amp;Open</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open a model with options</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Folder of the model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Folder with config.json and *.safetensors</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Choose…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Choose the folder of a model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the folder of a model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Load the model so</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::Panel</name>
    <message>
        <source>What happened</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Emulated device</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>emulated</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>panels</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What the panels cost</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>emulated: %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>There is no such accelerator here: its memory is part of this computer&apos;s, and its times are worked out. They are no measurements.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>panels: under %1 of a token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>panels: %1 of a token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Share of the answer&apos;s time that the engine spends on writing down what the panels show.
Working out what this panel shows takes %1 ms each time, in the window&apos;s own thread.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::PlotWidget</name>
    <message>
        <source>Picture copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Numbers copied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 could not be written: %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Saved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>plot</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save picture</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save numbers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>PNG picture (*.png)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Comma-separated values (*.csv)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy &amp;picture	Ctrl+C</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Save picture…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy &amp;numbers (CSV)	Ctrl+Shift+C</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save n&amp;umbers (CSV)…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show &amp;all	Home</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::PresetBar</name>
    <message>
        <source>Name of the preset</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save, rename or delete a preset</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Save as preset…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Rename…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Delete</source>
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
    <name>offstage::ui::ProfileEditor</name>
    <message>
        <source>Hardware profile</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1, changed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Name of the profile</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> GiB</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Of the GPU in all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reserved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Of the memory, what driver and display take</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> GB/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory bandwidth</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>As the datasheet has it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> TFLOP/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Arithmetic</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>16-bit matrix products, dense, as the datasheet has it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Bus bandwidth</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>One direction</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> µs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Launch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Per operation of the GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Meeting</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Each time host and GPU wait for each other</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What is wrong with the profile</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Reserved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory &amp;bandwidth</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Arithmetic</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>B&amp;us</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Launch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>M&amp;eeting</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The profile could not be saved as %1: %2.</source>
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
    <message>
        <source>1 · no beam search</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What every answer of this conversation should heed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>S&amp;ystem prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A system prompt to begin with</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Beam &amp;width</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How many answers are followed side by side; the most probable one is shown, at once and without chance. Costs time and memory in proportion</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>None</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Own text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A preset of yours</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::StackedBar</name>
    <message>
        <source>free</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> · budget %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1
%2: %3</source>
        <comment>row; part: size</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>, %1 of %2</source>
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
<context>
    <name>offstage::ui::TimelinePlot</name>
    <message>
        <source>predicted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1, predicted</source>
        <comment>lane</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 from %2</source>
        <comment>duration, begin</comment>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::ValueSlider</name>
    <message>
        <source>%1, slider</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> GiB</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> MiB</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>offstage::ui::WhatIfPanel</name>
    <message>
        <source>Forecasts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Forecast</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Edit a copy…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open a model to see how fast it would be on other hardware.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Forecasts from datasheets and this computer&apos;s measured CPU, not measurements. Experts count as they are in the checkpoint.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>GPU whose VRAM is varied</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The curve over VRAM is of this GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Work it out. Measures this computer&apos;s CPU for up to three seconds first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop working it out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Make a profile of your own from the chosen one</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Progress of the forecast</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What more VRAM would bring</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Forecasts by GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>VRAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>first token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>hit rate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>experts on it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Forecast tokens per second by GPU</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>forecast</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Press Forecast to compare hardware.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Forecast tokens per second over VRAM</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The speed over more and less VRAM.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>does not fit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1, with the CPU of its own profile</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>forecast tokens/s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>forecast, %1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>budget</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 with %2 of VRAM: 1 GB more would change nothing (forecast).</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>%1 with %2 of VRAM: 1 GB more would bring %3 tokens/s, from %4 to %5 (forecast).</source>
        <translation type="unfinished"></translation>
    </message>
</context>
</TS>
