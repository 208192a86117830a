import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tmu.models.classification.coalesced_classifier import TMCoalescedClassifier

X, y = load_digits(return_X_y=True)
X = (X > 7).astype(np.uint32)  # bits have to be made by hand
X, X_test, y, y_test = train_test_split(X, y.astype(np.uint32), random_state=0)

model = TMCoalescedClassifier(
    number_of_clauses=200,
    T=100,
    s=5.0,
    max_included_literals=12,
    platform="CPU",
    weighted_clauses=True,
    seed=1,
)
for epoch in range(10):  # a call of fit is one epoch
    model.fit(X, y)
print((model.predict(X_test) == y_test).mean())
