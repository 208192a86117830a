"""
Which rules serve which classes
===============================

One pool of rules serves all classes. A rule that speaks for one class and against others is worth
having once; the weights show which.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from cotm import CoTMClassifier

X, y = load_digits(return_X_y=True)
model = CoTMClassifier(n_clauses=120, max_literals=8, epochs=10, random_state=0).fit(X, y)

# %%
# Rules in the order of the class they speak for most, and how many votes each casts.

weights = model.weights_
order = np.lexsort((-weights.max(axis=1), weights.argmax(axis=1)))
most = np.abs(weights).max()

figure, place = plt.subplots(figsize=(7, 3.6), layout="constrained")
shown = place.imshow(weights[order].T, cmap="PuOr", vmin=-most, vmax=most, aspect="auto")
place.set(xlabel="rule", ylabel="class", yticks=range(10))
figure.colorbar(shown, label="votes")
plt.show()
