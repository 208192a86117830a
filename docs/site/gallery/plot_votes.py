"""
Votes, and how sure they are
============================

A prediction is a sum of votes. How far the votes for and against lie apart says how sure it is;
``predict_proba`` is made of that.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from cotm import CoTMClassifier

data = load_breast_cancer()
X, X_test, y, y_test = train_test_split(data.data, data.target, random_state=0)
model = CoTMClassifier(100, epochs=15, random_state=0).fit(X, y)

# %%

votes = model.votes(X_test)
ahead = votes[:, 1] - votes[:, 0]
figure, place = plt.subplots(figsize=(6, 3.4), layout="constrained")
edges = np.linspace(ahead.min(), ahead.max(), 25)
for label, name in enumerate(data.target_names):
    place.hist(ahead[y_test == label], edges, alpha=0.6, label=str(name))
place.axvline(0, color="gray")
place.set(xlabel="votes for benign less votes for malignant", ylabel="tumours")
place.legend()
plt.show()
