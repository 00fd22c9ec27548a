"""Offstage explained by its own demo model. Held out: (topic, phrasing) pairs."""
from .common import cap, held, typed

# topic id, how a question names it, answers
TERMS = [
    ("expert", "an expert", ["An expert is one of several small networks inside a layer. For each token the router picks a few of them, and only those do the work."]),
    ("moe", "a mixture of experts", ["A mixture of experts is a model whose layers hold many experts. Only a few of them work on each token, so the model is large but each token is cheap."]),
    ("router", "a router", ["The router is a small part of each layer. It looks at a token, gives every expert a score, and picks the best ones."]),
    ("gate", "the gate", ["The gate is another name for the router. It gives each expert a score and so decides which experts a token goes to."]),
    ("top2", "top-2 routing", ["Top-2 routing means that each token goes to the two experts with the best scores in each layer. Their results are mixed by weight."]),
    ("layer", "a layer", ["A layer is one step of the model. It has an attention part, a router and experts. I have 8 layers, one after the other."]),
    ("vram", "VRAM", ["VRAM is the memory of the graphics card. It is fast but small, so a large model does not fit in it."]),
    ("budget", "the VRAM budget", ["The VRAM budget is the amount of graphics memory that experts may use. This comes in a later version; this one runs on the CPU."]),
    ("hit", "a cache hit", ["A cache hit means that the expert a token needs is already in VRAM. Nothing has to be moved, so it is fast."]),
    ("miss", "a cache miss", ["A cache miss means that the expert a token needs is not in VRAM. It must be copied there, or it runs on the CPU."]),
    ("rate", "the hit rate", ["The hit rate is the share of expert calls that find their expert in VRAM. A higher hit rate means more tokens per second."]),
    ("cache", "the expert cache", ["The expert cache is the part of VRAM that holds experts. This comes in a later version; this one runs on the CPU."]),
    ("lru", "LRU", ["LRU means least recently used. When the cache is full, the expert that was not used for the longest time leaves first."]),
    ("evict", "eviction", ["Eviction means that an expert leaves the cache to make room for another one."]),
    ("prefetch", "prefetch", ["Prefetch means to load an expert before it is needed, with a guess which experts the next layer will use. This comes in a later version; this one runs on the CPU."]),
    ("heatmap", "the heat map", ["The heat map in the Experts panel has a row for each layer and a column for each expert. Its colours show how many tokens went to each expert."]),
    ("placement", "placement", ["Placement decides which experts live in VRAM and which stay in normal memory. This comes in a later version; this one runs on the CPU."]),
    ("offload", "offloading", ["Offloading means that parts of the model stay in normal memory, because the graphics card is too small for all of them."]),
    ("dispatch", "dispatch", ["Dispatch is the choice of where an expert runs: on the GPU, on the GPU after a copy, or on the CPU. In this version all experts run on the CPU."]),
    ("kv", "the KV cache", ["The KV cache keeps the keys and values of all earlier tokens, so that the model need not compute them again."]),
    ("context", "the context", ["The context is the text that the model can see: your messages and its answers. My context has room for 2048 tokens, and the status bar shows how much is used."]),
    ("token", "a token", ["A token is a small piece of text, such as a short word, a part of a word or a digit. Models read and write tokens."]),
    ("tokenizer", "a tokenizer", ["A tokenizer cuts text into tokens and gives each of them a number. Mine knows 2048 tokens."]),
    ("tps", "tokens per second", ["Tokens per second tells how fast a model writes. More is faster. The status bar shows it."]),
    ("ttft", "TTFT", ["TTFT is the time to first token: how long you wait from sending a prompt until the first token appears."]),
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
    ("beam", "the beam width", ["The beam width tells how many answers a model follows at the same time before it keeps the best one. This version has no such setting."]),
    ("system", "a system prompt", ["A system prompt is a text that comes before the conversation and tells the model how to behave."]),
    ("prompt", "a prompt", ["A prompt is the text that you send to the model."]),
    ("emulated", "the emulated accelerator", ["The emulated accelerator is a pretend graphics card that runs on the CPU, to try VRAM budgets without a real one. This version does not have it yet."]),
    ("offstage", "Offstage", ["Offstage is a desktop chat program for mixture of experts models that are too large for the graphics card. It runs them on your own computer and shows how they work."]),
    ("popularity", "popularity", ["The popularity of an expert tells how often it was used. The heat map shows it."]),
    ("attention", "attention", ["Attention is the part of a layer that looks back at earlier tokens and takes from them what it needs."]),
    ("activation", "an activation", ["An activation is the small vector that goes from layer to layer for one token. It is much smaller than an expert."]),
    ("pin", "pinning an expert", ["Pinning an expert means that it stays in VRAM and is never evicted. This version does not have it yet."]),
    ("gpu", "a GPU", ["A GPU is the processor of a graphics card. This version finds it and shows its name, but does not use it yet."]),
    ("bus", "the bus", ["The bus connects normal memory and the graphics card. Copies of experts go over it, and it is much slower than VRAM."]),
    ("safetensors", "safetensors", ["Safetensors is a file format for weights. It holds numbers only and no code, so it is safe to open."]),
]
ASK = ["What is {x}?", "What's {x}?", "Explain {x}.", "What does {x} mean?", "Can you explain {x}?", "Tell me about {x}.", "What is {x} in Offstage?", "What do you mean by {x}?", "Please explain {x} to me.", "I do not know what {x} is.",
       "{x}?", "What is meant by {x}?", "How does {x} work?", "Describe {x}.", "Could you tell me what {x} is?"]
HOWTO = [
    ("open", ["Choose File > Open model, or drop a model folder on the window."], ["How do I open another model?", "How can I open a model?", "How do I load a different model?", "How can I load my own model?", "Where can I open a model?", "I want to use another model.", "How do I change the model?", "Can I open another model?"]),
    ("newchat", ["Choose New conversation in the File menu. The old conversation is not kept, so copy it first if you need it."], ["How do I start a new conversation?", "How can I start a new chat?", "How do I begin a new chat?", "Where is the new conversation button?", "I want to start a new conversation.", "How do I open a new chat?"]),
    ("stop", ["Press the Stop button in the tool bar, or Esc. What was written so far is kept."], ["How do I stop an answer?", "How can I stop the answer?", "How do I stop the model?", "Can I stop you while you write?", "How do I interrupt an answer?", "Where is the stop button?"]),
    ("sampler", ["Choose View > Sampling. The panel has presets, temperature, top-k, top-p, min-p, repetition penalty, seed and the longest answer."], ["Where are the sampler settings?", "Where can I change the temperature?", "How do I change the sampler settings?", "Which sampler settings are there?", "Where do I set the seed?", "How do I set top-k and top-p?"]),
    ("enter", ["Press Enter to send your message. Shift+Enter starts a new line."], ["How do I send a message?", "How do I start a new line?", "How can I write several lines?", "What does Enter do?", "What does Shift+Enter do?", "How do I break the line?"]),
    ("private", ["Nothing is sent anywhere. Your conversations stay on this computer, and Offstage makes no network connection at all."], ["Do you send my data anywhere?", "Does Offstage send my data anywhere?", "Is my chat private?", "Are my conversations sent to the internet?", "Who can read my messages?", "Is my data safe?", "Does Offstage need the internet?", "Do you need the internet?"]),
    ("who", ["I am the demo model of Offstage, a small mixture of experts. I was trained by the makers of Offstage, only for this program."], ["Who are you?", "What are you?", "Who trained you?", "Who made you?", "What is your name?", "Which model are you?", "Who built you?", "Tell me about yourself.", "Introduce yourself."]),
    ("size", ["I have 8 layers with 8 experts each and about 11 million parameters. Two experts per layer work on each token."], ["How big are you?", "How many experts do you have?", "How many layers do you have?", "How many parameters do you have?", "What size are you?", "How large are you?", "How large is this model?", "How many experts work on a token?"]),
    ("can", ["I can tell short stories, do sums up to 99, convert units, write small Python functions, play word games, answer simple facts, chat, and explain Offstage."], ["What can you do?", "What can I ask you?", "What do you know?", "How can you help me?", "What are you good at?", "What are you able to do?", "What should I ask you?", "Which subjects do you know?"]),
    ("smart", ["I am a very small model, made to show how Offstage works. For real work, open a larger model with File > Open model."], ["Are you smart?", "Why are you so small?", "How good are you?", "Can you do real work?", "Are you as good as a large model?", "Why do you know so little?"]),
    ("subject", ["Watch the heat map in the Experts panel while you change the subject: a story and a sum use different experts."], ["How can I see the experts at work?", "How do I see which experts are used?", "What should I look at first?", "What can I see in the heat map?", "Where do I see the experts?", "How can I watch the experts?", "Show me how the experts work."]),
    ("faster", ["Close other programs, keep the conversation short, or open a smaller model. Placing experts on the GPU comes in a later version."], ["How can I make it faster?", "How do I get more tokens per second?", "Why is it slow?", "How can I speed up the model?", "What can I do if it is slow?", "How do I make a large model faster?"]),
    ("nofit", ["It does not have to fit in VRAM. This version runs the whole model on the CPU, so it must fit in normal memory."], ["Can I run a model that does not fit in VRAM?", "What if the model is too large for my graphics card?", "Can Offstage run large models?", "My graphics card is small. Can I use a large model?", "What happens if a model does not fit?", "Does the model need to fit in VRAM?"]),
    ("nogpu", ["You do not need a graphics card. This version of Offstage runs on the CPU."], ["Do I need a graphics card?", "Do I need a GPU?", "Can I use Offstage without a GPU?", "Does Offstage work without a graphics card?", "Must I have a graphics card?", "I have no GPU."]),
    ("layout", ["Choose View > Reset layout. The View menu also shows or hides the Experts and Sampling panels."], ["How do I reset the panels?", "How can I reset the layout?", "I lost a panel. How do I get it back?", "Where did my panel go?", "How do I put the panels back?", "How do I reset the window?"]),
    ("panels", ["There are two panels: Experts and Sampling. You can move them, hide them, and show them again from the View menu."], ["Which panels are there?", "What panels does Offstage have?", "What can I see in the panels?", "Tell me about the panels.", "What are the panels for?", "List the panels."]),
    ("export", ["Offstage cannot save or export a conversation yet. You can copy it with Edit > Copy the whole conversation."], ["How do I export a conversation?", "How can I save a chat?", "How do I save my conversation?", "Can I export a chat?", "Can I save this conversation as a file?", "How do I export to Markdown?"]),
    ("edit", ["Messages cannot be edited yet, and there are no branches. Copy the message, change it and send it again."], ["How do I edit a message?", "Can I change my prompt?", "How can I change a message?", "What happens when I edit a message?", "How do I regenerate an answer?", "What is a branch?"]),
    ("formats", ["Offstage opens model folders of the Mixtral family with config.json, safetensors files and a tokenizer.model. It cannot open GGUF files yet."], ["Which model files can I open?", "Which formats can Offstage open?", "What file formats are supported?", "Can I open a GGUF file?", "Which model formats work?", "What kind of model files does Offstage read?"]),
    ("whatif", ["This version has no What if panel. It does not use the graphics card yet, so more VRAM would not make it faster."], ["What is the What if panel?", "How fast would it be with more VRAM?", "What does the What if panel show?", "Would a better graphics card help?", "How can I compare graphics cards?", "Should I buy more VRAM?"]),
    ("bench", ["The status bar shows tokens per second. There is no Benchmark panel yet, but the command offstage-cli bench measures the speed."], ["How do I measure the speed?", "What does the Benchmark panel do?", "How can I run a benchmark?", "Where can I see how fast the model is?", "What is the Benchmark panel?", "How fast is my computer with this model?"]),
    ("log", ["There is no Log panel yet. Offstage makes no network connection at all, so there is none to list."], ["What is in the log?", "What does the Log panel show?", "How can I see outbound connections?", "Where is the log?", "What is the Log panel for?", "Where can I see what the program did?"]),
    ("budgetset", ["There is no VRAM budget to set yet: this version runs on the CPU. Placing experts on the GPU comes in a later version."], ["How do I change the VRAM budget?", "Where do I set the VRAM budget?", "How can I give Offstage more VRAM?", "How do I use the Budget panel?", "How do I use less VRAM?", "Where is the VRAM slider?"]),
    ("whyexperts", ["Each expert learns what its tokens have in common. So a story, a sum and a program use different experts."], ["Why are there many experts?", "Why do different subjects use different experts?", "What do experts learn?", "Why do experts specialise?", "Do experts have subjects?", "Why does the heat map change with the subject?"]),
    ("moveact", ["In this version every expert runs on the CPU. With a GPU, sending a small activation to the CPU can be faster than copying a large expert."], ["Why run an expert on the CPU?", "Why does an expert run on the CPU?", "Why not copy every expert to the GPU?", "When does an expert run on the CPU?", "Why is a copy slow?", "Why move activations and not weights?"]),
    ("search", ["There is no search and no list of old conversations yet. A conversation lives as long as its window."], ["How do I search my chats?", "How can I find an old conversation?", "Can I search in all chats?", "Where is the search box?", "How do I find something I wrote?", "How can I search?"]),
    ("theme", ["Choose View > Theme, then As the system, Light or Dark."], ["How do I change the theme?", "How can I use dark colours?", "Is there a dark theme?", "Where is the dark mode?", "How do I make the window light?", "Which themes are there?"]),
    ("numbers", ["Point at a cell of the heat map, or move to it with the arrow keys: its numbers are shown below the map."], ["How do I see the numbers of an expert?", "What do the cells of the heat map mean?", "How can I read the heat map?", "What happens when I point at a cell?", "Where are the numbers of the heat map?"]),
    ("span", ["The heat map counts the last 64 tokens or the whole conversation. Choose it above the map in the Experts panel."], ["Which tokens does the heat map count?", "How do I see the whole conversation in the heat map?", "How many tokens does the heat map show?", "What does the heat map count?"]),
    ("presets", ["The presets are Precise, Balanced and Creative. You find them in the Sampling panel."], ["Which presets are there?", "What are the presets?", "How do I choose a preset?", "How can I make the answers more creative?", "What is the Creative preset?"]),
    ("usegpu", ["Not yet. This version finds the GPU and shows its name, but runs the model on the CPU."], ["Do you use my GPU?", "Does Offstage use the GPU?", "Does Offstage use my graphics card?", "Do you run on the GPU?", "Is the GPU used?", "Are the experts on the GPU?"]),
    ("copy", ["Press the copy button below a message, or choose Edit > Copy the whole conversation."], ["How do I copy a message?", "How can I copy an answer?", "How do I copy the conversation?", "Can I copy the whole conversation?", "Where is the copy button?"]),
    ("quit", ["Choose File > Quit, or press Ctrl+Q. The conversation is not kept."], ["How do I quit?", "How do I close Offstage?", "How can I leave the program?", "What happens when I close the window?", "Is my conversation kept when I quit?"]),
]


WAYS = ["How do I {x}?", "How can I {x}?", "I want to {x}. How?", "Tell me how to {x}.", "Is there a way to {x}?", "Can you tell me how to {x}?", "What must I do to {x}?", "How do I {x} in Offstage?"]


def wordings(ask):
    """Questions of the form "How do I ...?" are asked in all WAYS; the others only as they stand."""
    for lead in ("How do I ", "How can I "):
        if ask.startswith(lead) and ask.endswith("?") and ask.count("?") == 1 and "." not in ask:
            return [w.replace("{x}", ask[len(lead):-1]) for w in WAYS]
    return [ask]


def one(rng, want_held=False):
    while True:
        if rng.random() < 0.58:
            tid, x, answers = rng.choice(TERMS)
            i = rng.randrange(len(ASK))
            key = f"off:{tid}:{i}"
            if (held(key) and i > 0) != want_held:
                continue
            if not want_held and rng.random() < 0.25:
                for art in ("an ", "a ", "the "):
                    if x.startswith(art):
                        x = x[len(art):]
            prompt = cap(ASK[i].replace("{x}", x))
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
