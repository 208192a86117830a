"""
The margin, where labels are wrong
==================================

A third of the labels that this learns from are wrong. With a small margin T rules stop learning
where a few of them agree, and each follows noise of its own; with a very large one all learn all
the time, and slowly agree. The best lies between, the higher the longer one trains.
"""

import matplotlib.pyplot as plt

from cotm import CoTMClassifier
from cotm.datasets import make_noisy_xor_2d

X, y, X_test, y_test = make_noisy_xor_2d(1500, 1000, noise=0.33, random_state=0)
margins = [4, 15, 60, 240, 960]
options = {"n_clauses": 16, "s": 2.0, "patch_shape": (2, 2), "epochs": 8}
scores = [
    [
        CoTMClassifier(T=T, random_state=seed, **options).fit(X, y).score(X_test, y_test)
        for seed in range(3)
    ]
    for T in margins
]

# %%

figure, place = plt.subplots(figsize=(6, 3.4), layout="constrained")
place.plot(margins, [sum(row) / len(row) for row in scores], marker="o")
place.fill_between(margins, [min(row) for row in scores], [max(row) for row in scores], alpha=0.2)
place.set(xscale="log", xlabel="T", ylabel="accuracy on right labels")
place.set_title("Mean and range of three seeds")
plt.show()
