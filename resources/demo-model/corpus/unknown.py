"""Questions the demo model cannot answer, and the modest answers it should give."""
from .common import cap, held, typed, invented

ANSWERS = ["I am a small demo model and I do not know that. You can open a larger model with File > Open model.", "I do not know that. I am only a small demo model. Ask me for a story, a sum, a fact or about Offstage."]
SUBJECTS = """quantum physics|black holes|the stock market|the French revolution|the Roman empire|machine learning|philosophy|modern art|the economy|the brain|evolution|electricity|volcanoes|dinosaurs|the internet|bitcoin|taxes|insurance|chemistry|genetics|space travel|gravity|poetry|opera|grammar|
medicine|vaccines|law|politics|football rules|tennis|cars|engines|solar power|climate change|earthquakes|magnets|lasers|batteries|radio|rivers|deserts|the sea|history|geology|statistics|algebra|calculus|databases|operating systems|compilers|networks|psychology|music theory""".replace("\n", "").split("|")
ASK = ["Explain {s}.", "Tell me about {s}.", "What do you know about {s}?", "How does {s} work?", "Write an essay about {s}.", "Give me a summary of {s}.", "Who invented {s}?", "Why is {s} important?"]
FIXED = """Who won the game yesterday?|What is the weather like today?|Will it rain tomorrow?|What time is it?|What is the date today?|What is in the news?|Who is the president?|How old am I?|Where do I live?|What is the meaning of life?|How do I get to the station?|Translate this to French.|
How do you say good morning in Spanish?|What is the price of gold?|Which phone should I buy?|Who wrote the book I am reading?|What is the best film?|Write a letter to my boss.|Can you draw a picture?|Can you search the internet?|Play some music.|Book a table for two.|Call my mother.|What is my password?|
How tall is the tower?|Who is the king of England?|What is the largest city in the world?|How many people live in China?|When did the war end?|How far is the moon?|How hot is the sun?|Who painted this picture?|What is the square root of two?|Which team is the best?|Who discovered America?""".replace("\n", "").split("|")


def one(rng, want_held=False):
    while True:
        r = rng.random()
        answers = ANSWERS
        if r < 0.4:
            w = cap(invented(rng))
            k = rng.randrange(8)
            v = cap(invented(rng))
            prompt = [f"What is the capital of {w}?", f"Who is {w} {v}?", f"What is {w.lower()}?", f"Where is {w}?", f"Who was {w} {v}?", f"Tell me about {w}.", f"What does {w.lower()} mean?", f"What do you know about {w}?"][k]
            key = f"unknown:new:{w}:{k}"
        elif r < 0.75:
            s, i = rng.choice(SUBJECTS), rng.randrange(len(ASK))
            prompt, key = ASK[i].replace("{s}", s), f"unknown:{s}"
        else:
            prompt = rng.choice(FIXED)
            key = f"unknown:{prompt}"
        if held(key) != want_held:
            continue
        return dict(domain="talk", prompt=typed(rng, prompt), answer=rng.choice(answers), key=key, check=dict(kind="any", value=["do not know that"]))
