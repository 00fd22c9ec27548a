"""Offstage explained by its own demo model. Held out: (topic, phrasing) pairs.

What is said here was checked against the program. A topic keeps its id, and a wording its place in its list: both are
in the key that decides what is held out, so new ones go to the end.
"""
from .common import cap, held, typed

# topic id, how a question names it (further names after |), answers
TERMS = [
    ("expert", "an expert", ["An expert is one of several small networks inside a layer. For each token the router picks a few of them, and only those do the work."]),
    ("moe", "a mixture of experts|MoE", ["A mixture of experts is a model whose layers hold many experts. Only a few of them work on each token, so the model is large but each token is cheap."]),
    ("router", "a router|routing", ["The router is a small part of each layer. It looks at a token, gives every expert a score, and picks the best ones."]),
    ("gate", "the gate", ["The gate is another name for the router. It gives each expert a score and so decides which experts a token goes to."]),
    ("top2", "top-2 routing", ["Top-2 routing means that each token goes to the two experts with the best scores in each layer. Their results are mixed by weight."]),
    ("layer", "a layer", ["A layer is one step of the model. It has an attention part, a router and experts. I have 8 layers, one after the other."]),
    ("vram", "VRAM|GPU memory", ["VRAM is the memory of the graphics card. It is fast but small, so a large model does not fit in it."]),
    ("budget", "the VRAM budget", ["The VRAM budget is the graphics memory that Offstage may take, for everything: experts, other weights and the KV cache. You set it in the Budget panel."]),
    ("hit", "a cache hit", ["A cache hit means that the expert a token needs is already in VRAM. Nothing has to be moved, so it is fast."]),
    ("miss", "a cache miss", ["A cache miss means that the expert a token needs is not in VRAM. It must be copied there, or it runs on the CPU."]),
    ("rate", "the hit rate", ["The hit rate is the share of expert calls that find their expert in VRAM. A higher hit rate means more tokens per second."]),
    ("cache", "the expert cache", ["The expert cache is the part of VRAM that holds experts. An expert that was copied there may stay, in the place of one that is used less."]),
    ("lru", "LRU", ["LRU means least recently used. When the cache is full, the expert that was not used for the longest time leaves first."]),
    ("evict", "eviction", ["Eviction means that an expert leaves the cache to make room for another one. It is not lost: it stays in RAM or on disk."]),
    ("prefetch", "prefetch|speculative loading", ["Prefetch means to load an expert before it is needed, with a guess which experts the next layers will use. Offstage does it only while it helps."]),
    ("heatmap", "the heat map", ["The heat map in the Experts panel has a row for each layer and a column for each expert. Its colours show how many tokens went to each expert."]),
    ("placement", "placement", ["Placement decides which experts live in VRAM, which in RAM and which on disk. Offstage works it out from measured costs."]),
    ("offload", "offloading", ["Offloading means that parts of the model stay in normal memory, because the graphics card is too small for all of them."]),
    ("dispatch", "dispatch", ["Dispatch is the choice of where an expert runs: on the GPU, on the GPU after a copy, or on the CPU. Offstage chooses by what each way costs."]),
    ("kv", "the KV cache", ["The KV cache keeps the keys and values of all earlier tokens, so that the model need not compute them again."]),
    ("context", "the context", ["The context is the text that the model can see: your messages and its answers. My context has room for 2048 tokens, and the status bar shows how much is used."]),
    ("token", "a token", ["A token is a small piece of text, such as a short word, a part of a word or a digit. Models read and write tokens."]),
    ("tokenizer", "a tokenizer", ["A tokenizer cuts text into tokens and gives each of them a number. Mine knows 2048 tokens."]),
    ("tps", "tokens per second", ["Tokens per second tells how fast a model writes. More is faster. The status bar shows it."]),
    ("ttft", "TTFT|time to first token", ["TTFT is the time to first token: how long you wait from sending a prompt until the first token appears."]),
    ("prefill", "prefill", ["Prefill is the first phase: the model reads your whole prompt at once. Then it writes its answer token by token."]),
    ("decode", "decode", ["Decode is the second phase: the model writes its answer, one token after the other."]),
    ("quant", "quantization", ["Quantization stores weights with fewer bits. The model gets smaller and faster, but a little less exact."]),
    ("weights", "weights", ["Weights are the numbers that a model has learnt. They are stored in its files and loaded when the model opens."]),
    ("parameter", "a parameter", ["A parameter is one learnt number of a model. I have about 11 million of them."]),
    ("temperature", "temperature", ["Temperature sets how bold the choice of the next token is. A low temperature is safe, a high one is more surprising."]),
    ("topk", "top-k", ["Top-k keeps only the k most likely tokens before one of them is chosen."]),
    ("topp", "top-p", ["Top-p keeps the most likely tokens until their chances add up to p. The rest is left out."]),
    ("minp", "min-p", ["Min-p leaves out every token that is much less likely than the best one."]),
    ("seed", "the seed", ["The seed starts the random choices. With the same seed, prompt and settings you get the same answer again."]),
    ("rep", "the repetition penalty", ["The repetition penalty makes tokens that were already used less likely, so that the model does not repeat itself."]),
    ("beam", "the beam width|beam search", ["The beam width tells how many answers a model follows at the same time before it keeps the best one. You set it in the Sampling panel."]),
    ("system", "a system prompt", ["A system prompt is a text that comes before the conversation and tells the model how to behave."]),
    ("prompt", "a prompt", ["A prompt is the text that you send to the model."]),
    ("emulated", "the emulated accelerator|an emulated GPU", ["The emulated accelerator is a pretend graphics card with a small memory of its own. Its work is done by the CPU and its times are worked out, not measured."]),
    ("offstage", "Offstage", ["Offstage is a desktop chat program for mixture of experts models that are too large for the graphics card. It runs them on your own computer and shows how they work."]),
    ("popularity", "popularity", ["The popularity of an expert tells how often it was used. The heat map shows it."]),
    ("attention", "attention", ["Attention is the part of a layer that looks back at earlier tokens and takes from them what it needs."]),
    ("activation", "an activation", ["An activation is the small vector that goes from layer to layer for one token. It is much smaller than an expert."]),
    ("pin", "pinning an expert", ["Pinning an expert means that it stays in VRAM and is never evicted. Select it in the heat map, press Change and choose Pin."]),
    ("gpu", "a GPU|a graphics card", ["A GPU is the processor of a graphics card. It is fast, but a large model does not fit in its memory, so Offstage shares the work with the CPU."]),
    ("bus", "the bus", ["The bus connects normal memory and the graphics card. Copies of experts go over it, and it is much slower than VRAM."]),
    ("safetensors", "safetensors", ["Safetensors is a file format for weights. It holds numbers only and no code, so it is safe to open."]),
    ("pexperts", "the Experts panel", ["The Experts panel shows all experts as a heat map: how often they are called, where they are, in how many bits, and their hit rate."]),
    ("pcache", "the Cache panel", ["The Cache panel shows the hit rate, how good the guesses are, and what is copied per token. It can replay the same calls with other policies."]),
    ("pdispatch", "the Dispatch panel", ["The Dispatch panel shows what CPU, copies and GPU did in each layer, predicted beside measured, and a timeline of one token."]),
    ("pbudget", "the Budget panel", ["The Budget panel shows what VRAM and RAM are spent on. Its sliders change VRAM, RAM, context and quality, with a preview before you press Apply."]),
    ("pwhatif", "the What if panel", ["The What if panel forecasts how fast this model would be on other graphics cards, and what more VRAM would bring."]),
    ("pbench", "the Benchmark panel", ["The Benchmark panel measures every answer, runs scenarios, and compares two plans on one prompt. The results can be exported."]),
    ("plog", "the Log panel", ["The Log panel lists what happened: models that were loaded, changes of the plan, decisions and problems. It also lists every outbound connection."]),
    ("psampling", "the Sampling panel", ["The Sampling panel holds the system prompt and the settings that choose the next token, such as temperature and seed."]),
    ("plist", "the list of conversations|the Conversations panel", ["The list at the left holds all your conversations. You can search, rename, pin, archive, export and delete them there."]),
    ("palette", "the command palette", ["The command palette finds every command of the menus by its name. Press Ctrl+K to open it."]),
    ("statusbar", "the status bar", ["The status bar is the line at the bottom of the window. It shows what the engine does, tokens per second, the context and the model."]),
    ("toolbar", "the tool bar", ["The tool bar is at the top of the window. It has buttons for a new conversation, a model, the hardware, the panels and Stop."]),
    ("meter", "the context meter", ["The context meter in the status bar shows how many tokens of the context this conversation uses."]),
    ("branch", "a branch", ["A branch is another way in which a conversation goes on. When you edit a message or ask again, the old one stays beside the new one."]),
    ("preset", "a preset", ["A preset is a set of sampling values with a name. You choose it in the Sampling panel, and you can save your own."]),
    ("replan", "a re-plan|re-planning", ["A re-plan changes where experts live and how many bits they have. It is made in the background while the conversation goes on."]),
    ("plan", "a plan", ["A plan says for each expert where it lives and in how many bits. Offstage makes it from your budgets and from measured costs."]),
    ("bits", "mean bits", ["Mean bits tell how many bits each weight of the experts has on average. Fewer bits make the model smaller and less exact."]),
    ("loss", "the predicted loss", ["The predicted loss is an estimate of how much less exact the experts become in fewer bits. The Budget panel shows it before you press Apply."]),
    ("hqq", "HQQ", ["HQQ is a way to store weights in 4, 3 or 2 bits. The experts become much smaller, and the answers a little less exact."]),
    ("int8", "int8", ["Int8 stores each weight in 8 bits. Experts take about half of the room that they need in bf16."]),
    ("bf16", "bf16", ["Bf16 is a number format with 16 bits for each weight. My own weights are stored in it."]),
    ("residency", "residency", ["Residency tells which memory holds an expert: the graphics card, RAM or the disk. The Experts panel can show it."]),
    ("recency", "recency", ["Recency tells how long ago an expert was called. The Experts panel can show it."]),
    ("precision", "the precision of an expert", ["The precision of an expert is the number of bits of its weights. The Experts panel shows it and can change it."]),
    ("staging", "staging", ["Staging is a small part of VRAM where copied experts arrive before they are used."]),
    ("dense", "dense weights", ["Dense weights are all weights that are not in experts, such as attention. Every token needs them."]),
    ("ram", "RAM", ["RAM is the normal memory of your computer. It is larger than VRAM but slower, and experts wait there."]),
    ("rambudget", "the RAM budget", ["The RAM budget is the normal memory that Offstage may take. Experts that find no room in it are read from disk."]),
    ("profile", "a hardware profile", ["A hardware profile holds the figures of a graphics card, such as its memory and its speed. Forecasts and emulated GPUs are made from it."]),
    ("itl", "ITL", ["ITL is the time from one token to the next. The Benchmark panel shows how evenly tokens come."]),
    ("policy", "a cache policy", ["A cache policy decides which experts stay in VRAM. The Cache panel compares LRU, LFU, segmented LRU and others."]),
    ("slru", "segmented LRU", ["Segmented LRU is a cache policy that protects the hottest half of the experts. The others leave by the rule of LRU."]),
    ("lfu", "LFU", ["LFU means least frequently used. When the cache is full, the expert that was used least often leaves first."]),
    ("greedy", "greedy choice", ["Greedy choice takes the most likely token every time. The preset Precise does that."]),
    ("mixtral", "Mixtral", ["Mixtral is a family of mixture of experts models. Offstage opens models of this family, and I am built like one."]),
    ("gguf", "GGUF", ["GGUF is a file format for models. Offstage opens it, and folders with safetensors files too."]),
    ("queue", "the queue", ["The queue holds the messages of other conversations that wait while one answer is written."]),
    ("cuda", "CUDA", ["CUDA is the way in which programs use NVIDIA graphics cards. Offstage has CUDA parts of its own."]),
    ("archive", "the archive", ["The archive holds conversations that you put aside. The Archive button above the list shows them."]),
    ("demo", "the demo model", ["The demo model is me. I come with Offstage, so that you can type your first prompt at once."]),
    ("sampling", "sampling", ["Sampling is the choice of the next token among the likely ones. The Sampling panel has its settings."]),
]
ASK = ["What is {x}?", "What's {x}?", "Explain {x}.", "What does {x} mean?", "Can you explain {x}?", "Tell me about {x}.", "What is {x} in Offstage?", "What do you mean by {x}?", "Please explain {x} to me.", "I do not know what {x} is.",
       "{x}?", "What is meant by {x}?", "How does {x} work?", "Describe {x}.", "Could you tell me what {x} is?"]
# Asked of panels besides: what they are for.
ASK_PANEL = ["What does {x} show?", "What is {x} for?", "What can I do in {x}?", "What can I see in {x}?", "How do I use {x}?", "What do I find in {x}?"]
HOWTO = [
    ("open", ["Choose File > Open model, or drop a model folder on the window."], ["How do I open another model?", "How can I open a model?", "How do I load a different model?", "How can I load my own model?", "Where can I open a model?", "I want to use another model.", "How do I change the model?", "Can I open another model?", "What does Ctrl+O do?"]),
    ("newchat", ["Choose File > New conversation, or press Ctrl+N. The old conversation stays in the list at the left."], ["How do I start a new conversation?", "How can I start a new chat?", "How do I begin a new chat?", "Where is the new conversation button?", "I want to start a new conversation.", "How do I open a new chat?", "What does Ctrl+N do?"]),
    ("stop", ["Press the Stop button in the tool bar, or Esc. What was written so far is kept."], ["How do I stop an answer?", "How can I stop the answer?", "How do I stop the model?", "Can I stop you while you write?", "How do I interrupt an answer?", "Where is the stop button?", "What does Esc do?", "What does the Stop button do?"]),
    ("sampler", ["Choose View > Sampling. The panel has presets, temperature, top-k, top-p, min-p, repetition penalty, seed, beam width and the longest answer."], ["Where are the sampler settings?", "Where can I change the temperature?", "How do I change the sampler settings?", "Which sampler settings are there?", "Where do I set the seed?", "How do I set top-k and top-p?", "How do I change the temperature?", "How do I set the beam width?"]),
    ("enter", ["Press Enter to send your message. Shift+Enter starts a new line."], ["How do I send a message?", "How do I start a new line?", "How can I write several lines?", "What does Enter do?", "What does Shift+Enter do?", "How do I break the line?"]),
    ("private", ["Your conversations stay on this computer. Offstage connects to nothing unless you download a model, add a machine or switch on its local server."], ["Do you send my data anywhere?", "Does Offstage send my data anywhere?", "Is my chat private?", "Are my conversations sent to the internet?", "Who can read my messages?", "Is my data safe?", "Does Offstage need the internet?", "Do you need the internet?", "Is there telemetry?", "Does Offstage look for updates?", "Can I use Offstage offline?", "Does this app phone home?", "Does Offstage phone home?", "Does this program send anything?"]),
    ("who", ["I am the demo model of Offstage, a small mixture of experts. I was trained by the makers of Offstage, only for this program."], ["Who are you?", "What are you?", "Who trained you?", "Who made you?", "What is your name?", "Which model are you?", "Who built you?", "Tell me about yourself.", "Introduce yourself."]),
    ("size", ["I have 8 layers with 8 experts each and about 11 million parameters. Two experts per layer work on each token."], ["How big are you?", "How many experts do you have?", "How many layers do you have?", "How many parameters do you have?", "What size are you?", "How large are you?", "How large is this model?", "How many experts work on a token?"]),
    ("can", ["I can tell short stories, do sums up to 99, convert units, write small Python functions, play word games, answer simple facts, chat, and explain Offstage."], ["What can you do?", "What can I ask you?", "What do you know?", "How can you help me?", "What are you good at?", "What are you able to do?", "What should I ask you?", "Which subjects do you know?"]),
    ("smart", ["I am a very small model, made to show how Offstage works. For real work, open a larger model with File > Open model."], ["Are you smart?", "Why are you so small?", "How good are you?", "Can you do real work?", "Are you as good as a large model?", "Why do you know so little?"]),
    ("subject", ["Watch the heat map in the Experts panel while you change the subject: a story and a sum use different experts."], ["How can I see the experts at work?", "How do I see which experts are used?", "What should I look at first?", "What can I see in the heat map?", "Where do I see the experts?", "How can I watch the experts?", "Show me how the experts work."]),
    ("faster", ["Give it more VRAM or fewer bits in the Budget panel, close other programs, or keep the conversation short."], ["How can I make it faster?", "How do I get more tokens per second?", "Why is it slow?", "How can I speed up the model?", "What can I do if it is slow?", "How do I make a large model faster?", "Why are you so slow?"]),
    ("nofit", ["It does not have to fit in VRAM. Some experts live there, the others wait in RAM or on disk, and the CPU helps to compute them."], ["Can I run a model that does not fit in VRAM?", "What if the model is too large for my graphics card?", "Can Offstage run large models?", "My graphics card is small. Can I use a large model?", "What happens if a model does not fit?", "Does the model need to fit in VRAM?", "How does Offstage run a model that is too large?"]),
    ("nogpu", ["You do not need a graphics card. Without one, Offstage runs on the CPU, and you can try an emulated GPU."], ["Do I need a graphics card?", "Do I need a GPU?", "Can I use Offstage without a GPU?", "Does Offstage work without a graphics card?", "Must I have a graphics card?", "I have no GPU."]),
    ("layout", ["Choose View > Reset layout. The View menu also shows or hides each panel."], ["How do I reset the panels?", "How can I reset the layout?", "I lost a panel. How do I get it back?", "Where did my panel go?", "How do I put the panels back?", "How do I reset the window?"]),
    ("showpanel", ["Choose the panel in the View menu, or press its button in the tool bar."], ["How do I show a panel?", "How do I hide a panel?", "How do I close a panel?", "How do I open the Budget panel?", "How do I open the Experts panel?", "Where is the Cache panel?", "Where is the Budget panel?", "Where is the What if panel?", "Where is the Benchmark panel?", "Where is the Log panel?", "Where is the Sampling panel?", "Where is the Dispatch panel?", "Where is the Experts panel?", "I closed a panel. How do I get it back?", "I closed the Experts panel. How do I get it back?", "Where are the panels?"]),
    ("panels", ["The panels are Conversations, Experts, Cache, Dispatch, Budget, What if, Machines, Benchmark, Log and Instructions and sampling. The View menu shows or hides them."], ["Which panels are there?", "What panels does Offstage have?", "What can I see in the panels?", "Tell me about the panels.", "What are the panels for?", "List the panels.", "How many panels are there?"]),
    ("export", ["Click the conversation in the list with the right mouse button and choose Export. It is saved as Markdown or JSON."], ["How do I export a conversation?", "How can I save a chat?", "How do I save my conversation?", "Can I export a chat?", "Can I save this conversation as a file?", "How do I export to Markdown?", "How do I export to JSON?", "How do I export my chats?"]),
    ("edit", ["Press the edit button below your message, change it, and send it as a new branch. The old one stays."], ["How do I edit a message?", "Can I change my prompt?", "How can I change a message?", "What happens when I edit a message?", "How do I correct my prompt?", "Can I edit what I wrote?"]),
    ("formats", ["Offstage opens GGUF files, and model folders with config.json, safetensors files and a tokenizer."], ["Which model files can I open?", "Which formats can Offstage open?", "What file formats are supported?", "Can I open a GGUF file?", "Which model formats work?", "What kind of model files does Offstage read?", "Which models can I open?", "Does Offstage support GGUF?"]),
    ("whatif", ["Choose View > What if and press Forecast. It compares graphics cards for this model and shows what more VRAM would bring."], ["Would more VRAM help?", "How fast would it be with more VRAM?", "Which graphics card should I buy?", "Would a better graphics card help?", "How can I compare graphics cards?", "Should I buy more VRAM?", "How fast would it be on another GPU?", "How do I forecast the speed?"]),
    ("bench", ["Choose View > Benchmark. It measures every answer, and under Scenario you can run a test of your own."], ["How do I measure the speed?", "How do I benchmark my computer?", "How can I run a benchmark?", "Where can I see how fast the model is?", "How do I run a scenario?", "How fast is my computer with this model?"]),
    ("log", ["Choose View > Log. It lists what the program did, and every outbound connection."], ["What is in the log?", "How do I open the log?", "How can I see outbound connections?", "Where is the log?", "Are there outbound connections?", "Where can I see what the program did?", "How do I see the log?"]),
    ("budgetset", ["Choose View > Budget and move the VRAM slider. A preview shows what would change, and Apply does it."], ["How do I change the VRAM budget?", "Where do I set the VRAM budget?", "How can I give Offstage more VRAM?", "How do I set a budget?", "How do I use less VRAM?", "Where is the VRAM slider?", "How do I change the RAM budget?", "How do I use less memory?", "What does the VRAM slider do?"]),
    ("whyexperts", ["Each expert learns what its tokens have in common. So a story, a sum and a program use different experts."], ["Why are there many experts?", "Why do different subjects use different experts?", "What do experts learn?", "Why do experts specialise?", "Do experts have subjects?", "Why does the heat map change with the subject?"]),
    ("moveact", ["Sending a small activation to the CPU can be faster than copying a large expert to the GPU. Offstage compares both."], ["Why run an expert on the CPU?", "Why does an expert run on the CPU?", "Why not copy every expert to the GPU?", "When does an expert run on the CPU?", "Why is a copy slow?", "Why move activations and not weights?", "Why run experts on the CPU?", "Why do experts run on the CPU?", "Why does the CPU compute experts?"]),
    ("search", ["Write in the search box above the list of conversations. It searches all of them."], ["How do I search my chats?", "How can I find an old conversation?", "Can I search in all chats?", "Where is the search box?", "How do I search all conversations?", "How can I search?"]),
    ("theme", ["Choose View > Theme, then As the system, Light or Dark."], ["How do I change the theme?", "How can I use dark colours?", "Is there a dark theme?", "Where is the dark mode?", "How do I make the window light?", "Which themes are there?", "How do I switch to dark mode?"]),
    ("numbers", ["Point at a cell of the heat map, or move to it with the arrow keys: its numbers are shown below the map."], ["How do I see the numbers of an expert?", "What do the cells of the heat map mean?", "How can I read the heat map?", "What happens when I point at a cell?", "Where are the numbers of the heat map?"]),
    ("span", ["It counts the last 64 tokens or the whole conversation. Choose it under Show in the Experts panel."], ["Which tokens does the heat map count?", "How do I see the whole conversation in the heat map?", "How many tokens does the heat map show?", "What does the heat map count?"]),
    ("presets", ["The presets are Precise, Balanced and Creative. You find them in the Sampling panel."], ["Which presets are there?", "What are the presets?", "How do I choose a preset?", "How can I make the answers more creative?", "What is the Creative preset?", "What is the Balanced preset?"]),
    ("usegpu", ["If Offstage finds an NVIDIA card, it runs on it together with the CPU. Without a card it runs on the CPU."], ["Do you use my GPU?", "Does Offstage use the GPU?", "Does Offstage use my graphics card?", "Do you run on the GPU?", "Is the GPU used?", "Are the experts on the GPU?", "Which graphics cards work?"]),
    ("copy", ["Press the copy button below a message, or choose Edit > Copy the whole conversation."], ["How do I copy a message?", "How can I copy an answer?", "How do I copy the conversation?", "Can I copy the whole conversation?", "Where is the copy button?"]),
    ("quit", ["Choose File > Quit, or press Ctrl+Q. Your conversations are kept."], ["How do I quit?", "How do I close Offstage?", "How can I leave the program?", "What happens when I close the window?", "Is my conversation kept when I quit?", "What does Ctrl+Q do?"]),
    ("saved", ["Yes. Every conversation is saved on this computer by itself, and the list at the left shows it."], ["Are my conversations saved?", "Is my chat saved?", "Do you keep my conversations?", "Must I save my chat?", "Are my chats kept?", "Does Offstage save conversations?", "Will my chat be here tomorrow?"]),
    ("where", ["They are in one SQLite file in your home folder, and nowhere else."], ["Where are my conversations stored?", "Where are my conversations kept?", "Where does Offstage save my chats?", "In which file are my conversations?", "Where is the chat history?"]),
    ("crash", ["At most the last second of an answer is lost. Every message is saved when you send it."], ["What happens if the program crashes?", "What happens after a power cut?", "Is my chat lost after a crash?", "Can I lose my conversation?", "What if my computer crashes?"]),
    ("rename", ["Click the conversation in the list with the right mouse button and choose Rename."], ["How do I rename a conversation?", "How can I rename a chat?", "How do I change the title of a conversation?", "Can I rename a conversation?", "How do I give a chat another name?"]),
    ("pinchat", ["Click the conversation in the list with the right mouse button and choose Pin. It then stays at the top."], ["How do I pin a conversation?", "How can I pin a chat?", "How do I keep a conversation at the top?", "Can I pin a chat?", "How do I unpin a conversation?"]),
    ("archiving", ["Click the conversation in the list with the right mouse button and choose Archive. The Archive button shows it again."], ["How do I archive a conversation?", "How can I archive a chat?", "How do I see archived conversations?", "Where are my archived chats?", "Can I archive a conversation?"]),
    ("delete", ["Select the conversation in the list and press Delete. Undo brings it back."], ["How do I delete a conversation?", "How can I delete a chat?", "Can I delete a conversation?", "How do I remove a chat?", "I deleted a chat. Can I get it back?"]),
    ("import", ["Click the list of conversations with the right mouse button, choose Import, and take a JSON file."], ["How do I import a conversation?", "How can I import chats?", "Can I import a conversation?", "How do I read an exported chat again?", "How do I import a JSON file?"]),
    ("again", ["Press the button Answer again below the answer. The old answer stays as a branch."], ["How do I regenerate an answer?", "How can I get another answer?", "Can you answer again?", "How do I ask for a new answer?", "Where is the regenerate button?", "How do I regenerate?", "How do I try again?"]),
    ("switch", ["Use the arrows below the message. 1/2 means the first of two branches."], ["How do I switch between branches?", "How can I see the old answer?", "How do I go back to the other branch?", "Where are my branches?", "What does 1/2 below a message mean?"]),
    ("continue", ["Press the button Continue below the answer. It goes on where it ended."], ["How do I continue an answer?", "How can I continue a stopped answer?", "Can I continue an answer that was cut short?", "How do I let you go on writing?", "The answer was stopped. Can it go on?"]),
    ("find", ["Press Ctrl+F and type the text. Enter goes to the next hit, Shift+Enter to the one before."], ["How do I find a text in this conversation?", "How can I find a word in this chat?", "How do I find something I wrote?", "What does Ctrl+F do?", "Can I search in this conversation?", "What is Ctrl+F?", "What is Ctrl+F for?"]),
    ("commands", ["Press Ctrl+K and type a part of its name. The command palette shows every command that fits."], ["How do I find a command?", "What does Ctrl+K do?", "How can I search the menus?", "How do I open the command palette?", "Where is a list of all commands?", "What is Ctrl+K?", "What does Ctrl+K open?", "What is Ctrl+K for?"]),
    ("keys", ["Ctrl+N begins a conversation, Ctrl+O opens a model, Ctrl+F finds text, Ctrl+K finds commands, Esc stops an answer, Ctrl+Q quits."], ["Which keyboard shortcuts are there?", "What are the shortcuts?", "List the shortcuts.", "Which keys can I use?", "Tell me the keyboard shortcuts.", "Are there keyboard shortcuts?"]),
    ("menus", ["The menus are File, Edit, View and Help. Ctrl+K finds every command in them."], ["Which menus are there?", "What menus does Offstage have?", "List the menus.", "Where is the menu?", "What is in the menus?"]),
    ("filemenu", ["The File menu has New conversation, Open model, Open with options, Recent models, Hardware and Quit."], ["What is in the File menu?", "What does the File menu have?", "Tell me about the File menu.", "List the File menu."]),
    ("viewmenu", ["The View menu has all panels, the command palette, Theme, Reset layout, Text size and Language."], ["What is in the View menu?", "What does the View menu have?", "Tell me about the View menu.", "List the View menu."]),
    ("language", ["Choose View > Language. The window speaks English, German and Vietnamese; it changes when Offstage starts again."], ["How do I change the language?", "Which languages does Offstage speak?", "Can I use Offstage in German?", "Is there a Vietnamese version?", "How do I switch to German?", "Where is the language setting?"]),
    ("speak", ["I only speak simple English. The window of Offstage also speaks German and Vietnamese."], ["Do you speak German?", "Which languages do you speak?", "Can you speak Vietnamese?", "Do you speak French?", "Do you understand German?", "Can you answer in German?", "Sprichst du Deutsch?"]),
    ("textsize", ["Choose View > Text size, or press Ctrl and plus for larger, Ctrl and minus for smaller text."], ["How do I make the text larger?", "How can I change the text size?", "The text is too small.", "How do I make the font bigger?", "How do I zoom?"]),
    ("options", ["Choose File > Open with options. It says whether the model fits, and what would make it fit, before it is loaded."], ["How do I know if a model fits?", "Will this model fit?", "How do I open a model with options?", "What does Open with options do?", "How can I check a model before loading it?"]),
    ("recent", ["Choose File > Recent models. The demo model is always at the top there."], ["How do I open a recent model?", "Where are my recent models?", "How do I get the demo model back?", "How do I open the demo model?", "How can I get back to the last model?"]),
    ("hardware", ["Choose File > Hardware, or press the hardware button in the tool bar."], ["How do I choose the hardware?", "How do I choose the GPU?", "How do I run on the CPU?", "How can I change the device?", "Where do I choose the graphics card?"]),
    ("tryemu", ["Choose File > Hardware > Try a small emulated GPU. The demo model does not fit in it, so experts come and go."], ["How do I try an emulated GPU?", "How can I see a GPU at work without one?", "How do I start the emulated accelerator?", "Can I try a GPU that I do not have?", "Where is the emulated GPU?", "What does Try a small emulated GPU do?"]),
    ("emutrue", ["No. The times of an emulated GPU are worked out from the figures of a card, and every panel says that it is emulated."], ["Are emulated times real?", "Is the emulated GPU as fast as a real one?", "Are the times of the emulated GPU measured?", "Can I trust the times of an emulated GPU?"]),
    ("pinexpert", ["Select the expert in the heat map, press Change and choose Pin. It stays on the device, whatever the cache says."], ["How do I pin an expert?", "How can I keep an expert in VRAM?", "How do I hold an expert on the GPU?", "Can I pin an expert?"]),
    ("evictexpert", ["Select the expert in the heat map, press Change and choose Evict. It stays in RAM or on disk."], ["How do I evict an expert?", "How can I take an expert off the GPU?", "How do I remove an expert from VRAM?", "Can I evict an expert?"]),
    ("bitsexpert", ["Select the expert in the heat map, press Change and choose its bits under Precision."], ["How do I change the precision of an expert?", "How can I give an expert fewer bits?", "How do I change the bits of an expert?", "Can I change one expert?"]),
    ("tokenexperts", ["Hold Alt and click the token in an answer. Its experts get a ring in the heat map."], ["How do I see the experts of a token?", "Which experts did this word use?", "How can I pick a token?", "What does Alt and a click do?", "Which experts worked on a token?", "How do I see which experts a word used?", "Which experts does a word use?"]),
    ("expertokens", ["Select the expert in the heat map. The tokens that called it are underlined in the chat."], ["How do I see the tokens of an expert?", "Which words used this expert?", "What happens when I select an expert?", "How can I see what an expert does?"]),
    ("channels", ["It can show frequency, recency, residency, precision and hit rate. Choose one under Show in the Experts panel."], ["What can the heat map show?", "How do I change what the heat map shows?", "How do I see where the experts are?", "What does Show in the Experts panel do?", "How do I see the hit rate of each expert?"]),
    ("preview", ["It shows tokens per second, first token, hit rate, bits and loss, now and after, and what has to be moved."], ["What does the preview show?", "What is the preview in the Budget panel?", "What does the preview in the Budget panel show?", "What happens before I press Apply?"]),
    ("apply", ["Apply moves experts in the background while the conversation goes on. Cancel goes back to the plan before."], ["What does Apply do?", "What happens when I press Apply?", "Can I chat while experts are moved?", "Can I change the budget while you write?", "How do I cancel a change of the budget?"]),
    ("undo", ["Press Undo in the Budget panel. It goes back to the budgets before."], ["How do I undo a change of the budget?", "How can I undo Apply?", "How do I get my old budget back?", "What does Undo in the Budget panel do?"]),
    ("ctxset", ["Move the context slider in the Budget panel. A longer context takes room that experts could have."], ["How do I get a longer context?", "How can I change the context length?", "How do I set the context?", "Where do I change the context?"]),
    ("quality", ["Choose Quality in the Budget panel: as in the checkpoint, mean bits at least, predicted loss at most, or one format for all experts."], ["How do I set the quality?", "How can I use fewer bits?", "How do I quantize the experts?", "How do I quantize a model?", "What does Quality in the Budget panel mean?", "How do I make the model smaller?"]),
    ("bitformats", ["Experts can be in bf16, int8, or HQQ with 4, 3 or 2 bits."], ["Which quantization formats are there?", "How many bits can experts have?", "Which formats can experts have?", "What are the formats in fewer bits?", "Which bits can I choose?"]),
    ("same", ["No. Where experts run never changes the answer. Only fewer bits do."], ["Does the placement change the answer?", "Does the budget change the answer?", "Does it matter for the answer where experts run?", "Do I get other answers with less VRAM?"]),
    ("usesvram", ["Choose View > Budget. The bars show dense weights, experts, the KV cache, staging and other programs."], ["What uses my VRAM?", "What is my VRAM spent on?", "What takes up the memory?", "How do I see what uses my memory?", "How do I see how much VRAM is free?"]),
    ("policies", ["Press Compare policies in the Cache panel. It replays the recorded calls without running the model again."], ["How do I compare cache policies?", "Which cache policy is best?", "How can I try another cache policy?", "What does Compare policies do?"]),
    ("whyran", ["Click a bar in the Dispatch panel. It shows both costs of the choice."], ["How do I see why an expert ran on the CPU?", "What happens when I click a bar in the Dispatch panel?", "How can I see why an expert was copied?", "How do I see the costs of a choice?"]),
    ("timeline", ["Click the figures below an answer. The Dispatch panel then shows the timeline of a token."], ["How do I see the timeline of a token?", "Where is the timeline?", "How can I see what a token took?", "What happens when I click the figures?"]),
    ("figures", ["They are the time to the first token, tokens per second, and the tokens read and written."], ["What are the numbers below an answer?", "What do the figures below an answer mean?", "What is shown below an answer?", "What does in and out below an answer mean?"]),
    ("twoplans", ["Open Two plans in the Benchmark panel, write a prompt, set plan B and press Compare."], ["How do I compare two plans?", "How can I compare two budgets?", "Can I compare two settings?", "What is Two plans in the Benchmark panel?"]),
    ("benchexport", ["Press Export in the Benchmark panel. The results are saved as CSV, JSON or Markdown, and Pictures saves PNG files."], ["How do I export the results?", "How do I export a benchmark?", "How can I save the benchmark results?", "Can I get the results as CSV?", "How do I save pictures of the panels?"]),
    ("plotsave", ["Click it with the right mouse button. You can copy or save the picture, or its numbers as CSV."], ["How do I save a picture of the heat map?", "How can I save a chart?", "How do I copy a chart?", "How do I get the numbers of a chart?", "How do I save a picture of a panel?", "How do I save a panel as a picture?"]),
    ("logsave", ["Press Save in the Log panel. The log is saved as text or JSON."], ["How do I save the log?", "How can I export the log?", "Can I save the log?"]),
    ("logfilter", ["Choose a kind of events above the log, or type in its search box."], ["How do I filter the log?", "How can I search the log?", "How do I see only problems in the log?"]),
    ("sysprompt", ["Write it at the top of the Sampling panel. It holds for this conversation."], ["How do I set a system prompt?", "Where is the system prompt?", "How can I change the system prompt?", "Where do I write the system prompt?"]),
    ("sysnames", ["They are Concise, Teacher and Programmer, and you can save your own."], ["Which system prompts are there?", "What presets are there for the system prompt?", "What is the Teacher prompt?", "What is the Concise prompt?"]),
    ("savepreset", ["Open the menu beside the preset in the Sampling panel and choose Save as preset."], ["How do I save a preset?", "How can I make my own preset?", "Can I save my settings as a preset?", "How do I delete a preset?", "How do I rename a preset?"]),
    ("sameanswer", ["Choose the preset Precise, or type a seed in the Sampling panel."], ["How do I get the same answer again?", "Why is each answer different?", "How can I get the same answer every time?", "How do I repeat an answer exactly?"]),
    ("longest", ["Set Longest answer in the Sampling panel. An answer ends after that many tokens."], ["How do I get longer answers?", "Why does the answer end early?", "How do I set the longest answer?", "How can I get shorter answers?"]),
    ("full", ["A card offers a longer context, to go on without the oldest turns, or with a summary of them."], ["What happens when the context is full?", "The context is full. What now?", "What can I do if the context is full?", "My conversation is too long."]),
    ("ctxused", ["Look at the context meter in the status bar. It shows the tokens used and how many there is room for."], ["How full is the context?", "How much context is left?", "How many tokens did I use?", "Where do I see how much context is used?", "How do I see how many tokens are used?"]),
    ("parallel", ["Yes. While one conversation is answered, the others wait in a queue."], ["Can I ask in two chats at the same time?", "Can I use another chat while you write?", "Can several conversations be answered?", "What happens if I ask in another chat meanwhile?"]),
    ("network", ["Yes. Choose View > Machines and press Add. Another computer then holds and computes some of the experts."], ["Can experts run on other computers?", "Can I use several computers?", "Can Offstage run on two machines?", "Can I share a model over the network?", "Can Offstage use another computer?", "Can several machines share a model?", "Can several computers work together?", "Do you run on several machines?"]),
    ("download", ["Choose File > What runs here. It shows models, how fast they would be on this computer, and downloads the one that you choose."], ["Can Offstage download models?", "How do I download a model?", "Where do I get models?", "Can you download a model for me?", "Where can I find a larger model?", "Can I download Mixtral here?", "How do I get Mixtral?"]),
    ("missing", ["It cannot see pictures or hear your voice, and it opens mixture of experts models only."], ["What can Offstage not do?", "What is missing in Offstage?", "What does Offstage not have yet?", "Which features are missing?"]),
    ("system64", ["Offstage runs on 64-bit Linux."], ["Does Offstage run on Windows?", "Does Offstage run on a Mac?", "Which operating systems work?", "Which system do I need?", "Does Offstage run on Linux?"]),
    ("needram", ["Enough for the model is best. Experts that find no room in RAM are read from disk, which is slower."], ["How much RAM do I need?", "How much memory do I need?", "What if I do not have enough RAM?", "My computer has little memory."]),
    ("licence", ["Offstage is free software under the Apache License 2.0."], ["Is Offstage free?", "What does Offstage cost?", "Which licence does Offstage have?", "Is Offstage open source?", "May I change Offstage?"]),
    ("cli", ["The program offstage-cli has the whole engine without the window: generate, chat, bench, plan and more."], ["Is there a command line?", "Can I use Offstage in a terminal?", "What is offstage-cli?", "How do I use Offstage without a window?"]),
    ("codecopy", ["Press Copy at the top of the code. Code in answers is coloured, too."], ["How do I copy code?", "How can I copy the code of an answer?", "Where is the copy button of the code?", "Is code coloured?"]),
    ("prefetchon", ["You need not. Offstage loads ahead only while that makes tokens faster, and stops when it does not."], ["How do I switch prefetch on?", "How can I turn prefetch off?", "Is prefetch on?", "When does Offstage prefetch?"]),
    ("cachepolicy", ["Choose File > Open with options and take another policy under Cache."], ["How do I change the cache policy?", "Where do I set the cache policy?", "How can I choose the cache policy?"]),
    ("badmodel", ["A card says what is wrong and in which file, and offers what helps, such as another model."], ["What happens if a model cannot be loaded?", "My model does not open.", "Why can a model not be opened?", "What if a model file is damaged?"]),
    ("movepanel", ["Drag a panel by its title. It can stand at a side, below, as a tab or as a window of its own."], ["How do I move a panel?", "How can I move the panels?", "Can I move the panels?", "How do I put a panel below?"]),
    ("ownprofile", ["Choose a card in the What if panel and press Edit a copy."], ["How do I make a hardware profile?", "How can I edit a hardware profile?", "How do I add my graphics card to What if?"]),
    ("trained", ["I was trained only on text that scripts in Offstage's source make. Nothing was taken from the internet."], ["What were you trained on?", "Were you trained on the internet?", "Which data were you trained on?", "Where does your knowledge come from?"]),
    ("chosen", ["In each layer the router scores all experts for each token, and the two best ones do the work."], ["How are experts chosen?", "Who decides which experts work?", "How does a token find its expert?", "Why do two experts work on a token?", "Which experts are used for a token?"]),
    ("decide", ["It compares what each way costs: on the GPU, on the GPU after a copy, or on the CPU. The Dispatch panel shows it."], ["How does Offstage decide where an expert runs?", "Who decides where an expert runs?", "Where do the experts run?", "How does Offstage choose between CPU and GPU?"]),
    ("program", ["Offstage is a desktop chat program for mixture of experts models that are too large for the graphics card. It runs them on your own computer and shows how they work."], ["What is this program?", "What does this program do?", "What is this?", "What does Offstage do?", "What is Offstage for?", "Tell me about this program.", "What can Offstage do?"]),
    ("settings", ["Choose Edit > Settings. Sampling has a panel, and Hardware is in the File menu."], ["Where are the settings?", "How do I open the settings?", "How do I change the settings?", "Is there a settings window?", "Where are the options?"]),
    ("version", ["Choose Help > About Offstage."], ["Which version is this?", "Which version of Offstage do I have?", "How do I see the version?", "What is in the Help menu?"]),
    ("files", ["I only see the text of this conversation, and of files that you attach to a message."], ["Can you see my files?", "Can you read my files?", "Can you open a website?", "Can you see my other conversations?", "Can you see my screen?"]),
    ("images", ["You can attach files with text, such as code or a PDF. Pictures and voice do not work."], ["Can I send a picture?", "Can you see images?", "Can I attach a file?", "Does Offstage support images?", "Can I talk to you by voice?"]),
    ("learn", ["No. I do not learn from what you write. My weights never change."], ["Do you learn from me?", "Do you learn from my messages?", "Will you remember me tomorrow?", "Do you get better when we talk?"]),
    ("begin", ["Ask me something, watch the heat map, then try a small emulated GPU with File > Hardware and move the sliders in the Budget panel."], ["How do I begin?", "How do I use Offstage?", "Where do I start?", "What should I do first?", "I am new here.", "Give me a tour.", "How do I get started?", "How do I start?", "How do I use this program?"]),
]


WAYS = ["How do I {x}?", "How can I {x}?", "I want to {x}. How?", "Tell me how to {x}.", "Is there a way to {x}?", "Can you tell me how to {x}?", "What must I do to {x}?", "How do I {x} in Offstage?"]
SHARE_OF_TERMS = 0.45


def wordings(ask):
    """Questions of the form "How do I ...?" are asked in all WAYS; the others only as they stand."""
    for lead in ("How do I ", "How can I "):
        if ask.startswith(lead) and ask.endswith("?") and ask.count("?") == 1 and "." not in ask:
            return [w.replace("{x}", ask[len(lead):-1]) for w in WAYS]
    return [ask]


def one(rng, want_held=False):
    while True:
        if rng.random() < SHARE_OF_TERMS:
            tid, called, answers = rng.choice(TERMS)
            names = called.split("|")
            n = rng.randrange(len(names))
            x = names[n]
            asks = ASK + ASK_PANEL if x.endswith("panel") else ASK
            i = rng.randrange(len(asks))
            key = f"off:{tid}:{i}" + (f":{n}" if n else "")
            if (held(key) and i > 0) != want_held:
                continue
            if not want_held and rng.random() < 0.25:
                for art in ("an ", "a ", "the "):
                    if x.startswith(art):
                        x = x[len(art):]
            prompt = cap(asks[i].replace("{x}", x))
        else:
            tid, answers, asks = rng.choice(HOWTO)
            i = rng.randrange(len(asks))
            ways = wordings(asks[i])
            j = rng.randrange(len(ways))
            key = f"off:{tid}:q{i}:{j}"
            # Held out: a wording of a question that is trained on in other wordings.
            if (held(key) and j > 1) != want_held:
                continue
            prompt = ways[j]
        return dict(domain="offstage", prompt=typed(rng, prompt), answer=rng.choice(answers), key=key, check=dict(kind="any", value=answers))
