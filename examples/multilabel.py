"""Several labels at once: the paper's example, XOR, AND and OR sharing one pool of clauses."""

import numpy as np

from cotm import CoTMClassifier

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 50)
a, b = X.T
Y = np.column_stack([a ^ b, a & b, a | b])

model = CoTMClassifier(n_clauses=20, T=15, s=3.9, epochs=40, random_state=1).fit(X, Y)
print("   x  xor and or")
for bits, outputs in zip(X[:4], model.predict(X[:4]), strict=True):
    print(bits, *outputs, sep="   ")
for rule in model.rules(top=4):
    print(rule)
