"""Everyday talk: greetings, names, feelings, plans, small advice. Held out: combinations of parts."""
from .common import cap, an, held, typed
from .names import PEOPLE

HELLO = ["Hello", "Hi", "Hey", "Good morning", "Good evening", "Good afternoon", "Hi there", "Hello there", "Hey there"]
HELLO_REPLY = {"Good morning": "Good morning!", "Good evening": "Good evening!", "Good afternoon": "Good afternoon!"}
OPENERS = ["What can I do for you?", "How can I help you?", "What would you like to do?"]
GOOD = ["happy", "glad", "great", "excited", "proud", "cheerful"]
BAD = ["sad", "tired", "angry", "nervous", "worried", "bored", "lonely", "upset"]
GOOD_WHY = ["I passed my exam", "I got a new job", "my sister is visiting", "the sun is shining", "my team won", "I finished my project", "it is my birthday", "I am going on a trip", "my cat came back", "I baked a good cake", "I learned to swim", "my friend called me"]
BAD_WHY = ["I lost my key", "I slept badly", "my friend moved away", "it rains all day", "I have a test tomorrow", "I missed my bus", "my cat is ill", "I broke my cup", "my brother is angry with me", "I have too much work", "I forgot my book", "my computer does not work"]
BAD_TIP = {"sad": "Do something kind for yourself today.", "tired": "A short rest may help.", "angry": "A slow walk and a deep breath may help.", "nervous": "Take a deep breath and go step by step.", "worried": "It often helps to talk to a friend.",
           "bored": "Maybe you could read a book or go for a walk.", "lonely": "Maybe you could call a friend.", "upset": "Take your time, and talk to somebody you trust."}
YOU = {"I passed my exam": "you passed your exam", "I got a new job": "you got a new job", "my sister is visiting": "your sister is visiting", "the sun is shining": "the sun is shining", "my team won": "your team won",
       "I finished my project": "you finished your project", "it is my birthday": "it is your birthday", "I am going on a trip": "you are going on a trip", "my cat came back": "your cat came back", "I baked a good cake": "you baked a good cake",
       "I learned to swim": "you learned to swim", "my friend called me": "your friend called you", "I lost my key": "you lost your key", "I slept badly": "you slept badly", "my friend moved away": "your friend moved away", "it rains all day": "it rains all day",
       "I have a test tomorrow": "you have a test tomorrow", "I missed my bus": "you missed your bus", "my cat is ill": "your cat is ill", "I broke my cup": "you broke your cup", "my brother is angry with me": "your brother is angry with you",
       "I have too much work": "you have too much work", "I forgot my book": "you forgot your book", "my computer does not work": "your computer does not work"}
WHERE = ["the park", "the beach", "the cinema", "the museum", "the market", "the library", "the zoo", "the mountains", "the lake", "the theatre", "the swimming pool", "a concert"]
WHO = ["my sister", "my brother", "my friend", "my mother", "my father", "my dog", "my family", "my class"]
WHEN = ["today", "tomorrow", "tonight", "this weekend", "on Sunday", "on Friday", "next week"]
ADVICE = [
    ("sleep better", "Go to bed at the same time each day, keep the room dark, and leave your phone in another room."), ("learn new words", "Write them on small cards, say them aloud, and repeat them each day for a week."),
    ("make friends", "Join a club, ask people about themselves, and listen to what they say."), ("save money", "Write down what you spend, make a list before you shop, and put a little aside each month."),
    ("wake up early", "Go to bed earlier, put the alarm far from your bed, and let the light in."), ("stay healthy", "Eat fruit and vegetables, drink water, move every day, and sleep enough."),
    ("prepare for a test", "Start early, make a plan for each day, and explain the subject to somebody else."), ("calm down", "Breathe in slowly, count to four, breathe out slowly, and do it again."),
    ("read more", "Keep a book with you, and read ten pages every evening."), ("write better", "Use short sentences, read your text aloud, and remove the words you do not need."),
    ("keep my room tidy", "Give each thing a place, and tidy up for ten minutes every evening."), ("cook rice", "Use two cups of water for one cup of rice, let it boil, then cook it slowly under a lid."),
    ("make tea", "Boil fresh water, pour it over the tea, wait for three minutes, and take the tea out."), ("be on time", "Get ready the evening before, and leave ten minutes earlier than you must."),
    ("learn to draw", "Draw a little every day, look closely at things, and do not worry about mistakes."), ("learn to swim", "Begin in shallow water, learn to float first, and take lessons with a teacher."),
    ("say sorry", "Say what you did wrong, say that you are sorry, and ask how you can make it right."), ("find a present", "Think of what the person likes to do, and choose something small and useful for it."),
    ("plan a party", "Choose a day, write a list of guests, and prepare food, music and a game."), ("grow tomatoes", "Give them a sunny place, good soil, and water every morning."),
    ("learn the piano", "Practise for a short time every day, start slowly, and play what you enjoy."), ("focus on my work", "Put your phone away, choose one small task, and take a break after it."),
    ("start running", "Begin slowly, walk in between, and run a little farther each week."), ("remember names", "Say the name when you hear it, and think of a picture that goes with it."),
    ("learn to code", "Start with small programs, change them, see what happens, and build something you like."), ("make a good soup", "Fry an onion, add vegetables and water, and let it cook slowly for half an hour."),
]
ASK_ADVICE = ["How can I {x}?", "How do I {x}?", "Can you help me {x}?", "I want to {x}. What can I do?", "Do you have a tip? I want to {x}.", "What is the best way to {x}?", "Give me advice: how can I {x}?", "I would like to {x}. Any ideas?"]
FIXED = [
    (["How are you?", "How are you doing?", "How are you today?", "How is it going?", "Are you well?", "How do you do?"], ["I am doing well, thank you. How are you?", "I am fine, thank you. What can I do for you?"], "how"),
    (["Thank you!", "Thanks!", "Thank you very much.", "Thanks a lot!", "Thanks, that helps.", "Great, thank you.", "Ok thanks", "Perfect, thanks!"], ["You are welcome!", "You are welcome! Is there anything else?"], "thanks"),
    (["Goodbye!", "Bye!", "See you later.", "Bye bye", "See you tomorrow.", "I have to go now.", "I must go. Bye!"], ["Goodbye! It was nice to talk to you.", "Goodbye, and have a nice day!"], "bye"),
    (["Good night!", "Good night.", "I am going to bed.", "I am going to sleep now."], ["Good night! Sleep well."], "night"),
    (["Tell me a joke.", "Do you know a joke?", "Make me laugh.", "A joke, please.", "Can you tell me a joke?", "Say something funny."], ["Why did the book go to the doctor? It had a hole in its story.", "What has hands but cannot clap? A clock.", "What gets wetter the more it dries? A towel.", "Why was the number six afraid of seven? Because seven ate nine."], "joke"),
    (["You are nice.", "I like you.", "You are great!", "Well done!", "Good job!", "That was good.", "You are clever."], ["Thank you, that is kind of you!"], "praise"),
    (["Yes.", "Yes", "Ok", "Okay.", "Sure."], ["Good! What would you like to do?"], "yes"), (["No.", "No", "No, thank you.", "No thanks", "Nothing."], ["All right. I am here if you need me."], "no"),
    (["I love you.", "Do you love me?", "Are you my friend?", "Can we be friends?", "Do you like me?"], ["I am only a small program, but I am always glad to talk to you."], "love"),
    (["Are you a human?", "Are you a person?", "Are you real?", "Are you a robot?", "Are you alive?", "Do you have feelings?"], ["No, I am not a person. I am a small language model that runs on your own computer."], "human"),
    (["What is your favourite colour?", "What is your favourite food?", "Do you like music?", "Do you like cats?", "What do you like?", "Do you have a hobby?"], ["I am a program, so I have no favourites. What do you like?"], "favourite"),
    (["I do not understand.", "What do you mean?", "I don't get it.", "That is wrong.", "That is not right.", "You are wrong."], ["I am sorry. I am a small model and I make mistakes. Please ask me in another way."], "sorry"),
    (["I am hungry.", "I'm hungry.", "I am so hungry!", "What should I eat?", "What can I cook today?", "What should I eat for dinner?"], ["How about a warm soup with bread? It is quick and good.", "How about rice with vegetables? It is easy to make."], "hungry"),
    (["I am cold.", "I'm cold.", "It is so cold here.", "I am freezing."], ["Put on something warm and have a cup of tea."], "cold"),
    (["I am back.", "I'm back.", "Here I am again.", "It's me again."], ["Welcome back! What would you like to do?"], "back"),
    (["Help", "Help me.", "Can you help me?", "I need help.", "Please help me.", "I have a question.", "Can I ask you something?"], ["Of course. What would you like to know?"], "help"),
]


def one(rng, want_held=False):
    while True:
        r = rng.random()
        if r < 0.12:
            h, n = rng.choice(HELLO), rng.choice(PEOPLE)
            if rng.random() < 0.5:
                key = f"talk:hello:{h}"
                if want_held:
                    continue
                return dict(domain="talk", prompt=typed(rng, h + rng.choice(["!", ".", "", ", how can you help me?"])), answer=HELLO_REPLY.get(h, "Hello!") + " " + rng.choice(OPENERS), key=key, check=None)
            key = f"talk:name:{h}:{n}"
            if held(key) != want_held:
                continue
            p = rng.choice([f"{h}, I am {n}.", f"{h}! My name is {n}.", f"{h}, my name is {n}.", f"{h}. I'm {n}."])
            if rng.random() < 0.4:
                p = p[:-1] if rng.random() < 0.5 else p.replace(".", "!")
            return dict(domain="talk", prompt=p, answer=f"{HELLO_REPLY.get(h, 'Hello!')[:-1]}, {n}! It is nice to meet you.", key=key, check=dict(kind="contains", value=f", {n}!"))
        if r < 0.30:
            good = rng.random() < 0.45
            e, w = (rng.choice(GOOD), rng.choice(GOOD_WHY)) if good else (rng.choice(BAD), rng.choice(BAD_WHY))
            key = f"talk:feel:{e}:{w}"
            if held(key) != want_held:
                continue
            p = rng.choice([f"I am {e} because {w}.", f"I'm {e} because {w}.", f"I feel {e} because {w}.", f"I feel so {e}, {w}.", f"Today I am {e} because {w}.", f"{cap(w)}. I am {e}."])
            if good:
                a = rng.choice([f"How nice that {YOU[w]}! I am glad that you feel {e}.", f"That is good news: {YOU[w]}! I am glad that you feel {e}."])
            else:
                a = f"I am sorry that you are {e} because {YOU[w]}. {BAD_TIP[e]}"
            return dict(domain="talk", prompt=typed(rng, p), answer=a, key=key, check=dict(kind="all", value=[YOU[w], f"feel {e}" if good else f"you are {e}"]))
        if r < 0.46:
            where, who, when = rng.choice(WHERE), rng.choice(WHO), rng.choice(WHEN)
            key = f"talk:plan:{where}:{who}:{when}"
            if held(key) != want_held:
                continue
            p = rng.choice([f"I am going to {where} with {who} {when}.", f"{cap(when)} I am going to {where} with {who}.", f"I want to go to {where} with {who} {when}.", f"{cap(who)} and I are going to {where} {when}."])
            you = who.replace("my", "your")
            a = rng.choice([f"That sounds good! Have fun at {where} with {you}.", f"What a nice plan! I hope that you and {you} enjoy {where}."])
            if "Have fun" in a and where in ("the mountains",):
                a = a.replace("at the", "in the")
            return dict(domain="talk", prompt=typed(rng, p), answer=a, key=key, check=dict(kind="all", value=[where, you]))
        if r < 0.70:
            i = rng.randrange(len(ASK_ADVICE))
            x, tip = rng.choice(ADVICE)
            key = f"talk:advice:{x}:{i}"
            if (held(key) and i > 0) != want_held:
                continue
            return dict(domain="talk", prompt=typed(rng, ASK_ADVICE[i].replace("{x}", x)), answer=tip, key=key, check=dict(kind="contains", value=tip))
        asks, answers, k = rng.choice(FIXED)
        i = rng.randrange(len(asks))
        key = f"talk:{k}:{i}"
        if want_held:
            continue
        return dict(domain="talk", prompt=typed(rng, asks[i]), answer=rng.choice(answers), key=key, check=dict(kind="any", value=answers))


LIKES = ["pizza", "music", "football", "chess", "cats", "dogs", "books", "the sea", "winter", "summer", "chocolate", "painting", "trains", "the piano"]


def memory(rng, want_held=False):
    """A short conversation in which something said earlier is asked again."""
    while True:
        n = rng.choice(PEOPLE)
        h = rng.choice(HELLO)
        k = rng.choice(["name", "like", "go"])
        t1 = (rng.choice([f"{h}, I am {n}.", f"{h}! My name is {n}."]), f"{HELLO_REPLY.get(h, 'Hello!')[:-1]}, {n}! It is nice to meet you.")
        if k == "name":
            key, inner = f"memory:name:{n}", [f"talk:name:{h}:{n}"]
            last = (rng.choice(["What is my name?", "Do you remember my name?", "What's my name?", "Who am I?"]), f"Your name is {n}.")
        elif k == "like":
            x = rng.choice(LIKES)
            key, inner = f"memory:like:{x}:{n}", []
            t1 = (rng.choice([f"I like {x}.", f"I really like {x}.", f"I love {x}."]), f"It is good to hear that you like {x}.")
            last = (rng.choice(["What do I like?", "Do you remember what I like?"]), f"You like {x}.")
        else:
            w, who, when = rng.choice(WHERE), rng.choice(WHO), rng.choice(WHEN)
            key, inner = f"memory:go:{w}:{who}", [f"talk:plan:{w}:{who}:{when}"]
            you = who.replace("my", "your")
            t1 = (f"I am going to {w} with {who} {when}.", f"What a nice plan! I hope that you and {you} enjoy {w}.")
            last = (rng.choice(["Where am I going?", "Do you remember where I am going?"]), f"You are going to {w} with {you}.")
        # What is said here is also a problem of its own in one() above, held out or not.
        if held(key) == want_held and not any(held(k) for k in inner):
            return key, t1, (typed(rng, last[0]), last[1])
