"""
What rules look for in digits
=============================

Rules about 4 × 4 patches of handwritten digits, as pictures: dark pixels must be dark, white ones
must be white, grey ones may be anything.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from cotm import CoTMClassifier

digits = load_digits()
X, y = digits.images > 7, digits.target
model = CoTMClassifier(n_clauses=200, patch_shape=(4, 4), epochs=8, random_state=0).fit(X, y)

# %%
# A patch's literals: 4 bits for its row, 4 for its column, then its 16 pixels, and the negations
# of all of them in the same order.

included = model.memory_ >= 0
half = included.shape[1] // 2
pixels = included[:, half - 16 : half].astype(int) - included[:, -16:]

figure, axes = plt.subplots(2, 5, figsize=(7, 3.4), layout="constrained")
for label, place in enumerate(axes.flat):
    clause = np.argmax(model.weights_[:, label] * (np.abs(pixels).sum(axis=1) > 3))
    place.imshow(pixels[clause].reshape(4, 4), cmap="gray_r", vmin=-1, vmax=1)
    place.set(title=f"for {label}: {model.weights_[clause, label]:+d}", xticks=[], yticks=[])
figure.suptitle("The rule with most votes for each digit")
plt.show()
