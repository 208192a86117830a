import numpy as np
from sklearn.datasets import load_digits
from tmu.models.classification.coalesced_classifier import TMCoalescedClassifier

digits = load_digits()
X = (digits.images > 7).astype(np.uint32)[..., None]
y = digits.target.astype(np.uint32)

model = TMCoalescedClassifier(
    number_of_clauses=100,
    T=100,
    s=5.0,
    patch_dim=(4, 4),  # width, height
    platform="CPU",
    weighted_clauses=True,
    seed=1,
)
for epoch in range(5):
    model.fit(X[:1500], y[:1500])
labels, votes = model.predict(X[1500:], return_class_sums=True)
fires = model.transform(X[1500:])
print((labels == y[1500:]).mean())
