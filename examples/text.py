"""Text: a sparse set of words in, rules over words out. Nothing is made dense."""

import itertools

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from cotm import CoTMClassifier

praise = ["a wonderful film", "great acting", "not bad at all", "i loved it", "a great story"]
blame = ["a boring film", "bad acting", "not great at all", "i hated it", "a bad story"]
frames = ["{}", "honestly {}", "{} if you ask me", "{} and my friends agree", "well {} in the end"]
texts = [f.format(t) for f, t in itertools.product(frames, praise + blame)]
labels = ["positive"] * len(praise) + ["negative"] * len(blame)
y = labels * len(frames)

words = CountVectorizer(binary=True, ngram_range=(1, 2), token_pattern=r"\w+")
classifier = CoTMClassifier(n_clauses=100, s=3.0, max_literals=5, epochs=60, random_state=0)
model = make_pipeline(words, classifier).fit(texts, y)
print(f"accuracy {model.score(texts, y):.3f}")
for review in ("not bad", "not great"):
    print(f"{review}: {model.predict([review])[0]}")
for rule in model[-1].rules(label="positive", top=3, feature_names=words.get_feature_names_out()):
    print(rule)
