import numpy as np

from cotm import CoTMClassifier

random = np.random.default_rng(0)
X = random.integers(0, 2, (1000, 8), dtype=np.uint8)
y = X[:, 0] ^ X[:, 1]

model = CoTMClassifier(
    n_clauses=20, s=3.0, T=15, max_literals=4, epochs=20, early_stopping=True, random_state=1
)
model.fit(X[:800], y[:800], eval_set=(X[800:], y[800:]))

print((model.predict(X[800:]) == y[800:]).mean())
print(model.rules(top=1)[0])
